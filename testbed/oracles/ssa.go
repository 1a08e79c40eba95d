package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	ssaerrors "github.com/fluxcd/pkg/ssa/errors"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/fluxcd/pkg/ssa/utils"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

func init() {
	commands["ssa-normalise"] = runNormalise
	commands["ssa-normalise-dry-run"] = runNormaliseDryRun
	commands["ssa-sort"] = runSort
	commands["ssa-ids"] = runIDs
	commands["ssa-managers"] = runManagers
	commands["ssa-quantities"] = runQuantities
	commands["ssa-errors"] = runErrors
	commands["ssa-types"] = runTypes
}

// normalised is one object after normalisation, or why that failed.
type normalised struct {
	Object map[string]interface{} `json:"object,omitempty"`
	Error  string                 `json:"error,omitempty"`
}

// runNormalise reads a JSON list of objects and prints each as Flux sends it to the API server.
func runNormalise() error {
	return normaliseWith(func(item *unstructured.Unstructured) error {
		if err := normalize.UnstructuredList([]*unstructured.Unstructured{item}); err != nil {
			return err
		}
		utils.RemoveCABundleFromCRD(item)
		return nil
	})
}

// runNormaliseDryRun does the same for answers of a dry run.
func runNormaliseDryRun() error {
	return normaliseWith(normalize.DryRunUnstructured)
}

func normaliseWith(apply func(*unstructured.Unstructured) error) error {
	objects, err := readObjects()
	if err != nil {
		return err
	}
	answers := make([]normalised, 0, len(objects))
	for _, item := range objects {
		if err := apply(item); err != nil {
			answers = append(answers, normalised{Error: err.Error()})
			continue
		}
		answers = append(answers, normalised{Object: item.Object})
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// runSort reads a JSON list of object ids and prints them in apply order.
func runSort() error {
	var ids []string
	if err := json.NewDecoder(os.Stdin).Decode(&ids); err != nil {
		return err
	}
	metas := make([]object.ObjMetadata, 0, len(ids))
	for _, id := range ids {
		meta, err := object.ParseObjMetadata(id)
		if err != nil {
			return err
		}
		metas = append(metas, meta)
	}
	sort.Stable(ssa.SortableMetas(metas))
	sorted := make([]string, 0, len(metas))
	for _, meta := range metas {
		sorted = append(sorted, meta.String())
	}
	return json.NewEncoder(os.Stdout).Encode(sorted)
}

// runIDs reads a JSON list of texts and prints how each parses as an object id, and prints again.
func runIDs() error {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	type answer struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
		Group     string `json:"group"`
		Kind      string `json:"kind"`
		Text      string `json:"text"`
		Subject   string `json:"subject"`
		Error     string `json:"error,omitempty"`
	}
	answers := make([]answer, 0, len(texts))
	for _, text := range texts {
		meta, err := object.ParseObjMetadata(text)
		if err != nil {
			answers = append(answers, answer{Error: err.Error()})
			continue
		}
		answers = append(answers, answer{
			Namespace: meta.Namespace, Name: meta.Name, Group: meta.GroupKind.Group, Kind: meta.GroupKind.Kind,
			Text: meta.String(), Subject: utils.FmtObjMetadata(meta),
		})
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// runManagers reads cases of an object and the managers to take over, and prints the JSON patch for each.
func runManagers() error {
	var cases []struct {
		Object   map[string]interface{} `json:"object"`
		Managers []ssa.FieldManager     `json:"managers"`
		Name     string                 `json:"name"`
	}
	var buffer bytes.Buffer
	if _, err := buffer.ReadFrom(os.Stdin); err != nil {
		return err
	}
	if err := utiljson.Unmarshal(buffer.Bytes(), &cases); err != nil {
		return err
	}
	answers := make([][]ssa.JSONPatch, 0, len(cases))
	for _, item := range cases {
		patches, err := ssa.PatchReplaceFieldsManagers(
			&unstructured.Unstructured{Object: item.Object}, item.Managers, item.Name)
		if err != nil {
			return err
		}
		answers = append(answers, patches)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// runQuantities reads a JSON list of texts and prints each as a canonical quantity, or null.
func runQuantities() error {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	answers := make([]*string, 0, len(texts))
	for _, text := range texts {
		var quantity resource.Quantity
		encoded, err := json.Marshal(text)
		if err != nil {
			return err
		}
		if err := quantity.UnmarshalJSON(encoded); err != nil {
			answers = append(answers, nil)
			continue
		}
		canonical := quantity.String()
		answers = append(answers, &canonical)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// runErrors reads pairs of an API status and an object, and prints the dry-run error's text and whether it
// counts as an immutable change.
func runErrors() error {
	var cases []struct {
		Status metav1.Status          `json:"status"`
		Object map[string]interface{} `json:"object"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	type answer struct {
		Text      string `json:"text"`
		Immutable bool   `json:"immutable"`
	}
	answers := make([]answer, 0, len(cases))
	for _, item := range cases {
		err := &apierrors.StatusError{ErrStatus: item.Status}
		dryRun := ssaerrors.NewDryRunErr(err, &unstructured.Unstructured{Object: item.Object})
		answers = append(answers, answer{Text: dryRun.Error(), Immutable: ssaerrors.IsImmutableError(err)})
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

// runTypes prints the field table of every kind that client-go's scheme knows, one line each:
//
//	= apps/v1 Deployment 17        the object's kind and the number of its type
//	17 name? s;spec!18;...         a type: its fields in order, each name, mark and type
//
// The mark is `?` for a field left out when empty, `^` when zero, `!` for one that is always written.
// Types: s string, b bool, i integer, f float, y bytes, v any value, t time, m microtime, d duration,
// q quantity, x int-or-string, r raw JSON, a number for a struct; `*T` pointer, `[T` list, `{T` map.
func runTypes() error {
	table := typeTable{numbers: map[reflect.Type]int{}}
	type root struct {
		version, kind string
		number        int
	}
	var roots []root
	for gvk, known := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == "__internal" || !hasMetadata(known) || strings.HasSuffix(gvk.Kind, "List") {
			continue
		}
		roots = append(roots, root{version: gvk.GroupVersion().String(), kind: gvk.Kind})
	}
	sort.Slice(roots, func(i, j int) bool {
		return roots[i].version+" "+roots[i].kind < roots[j].version+" "+roots[j].kind
	})
	for index, item := range roots {
		gvk := schema.FromAPIVersionAndKind(item.version, item.kind)
		roots[index].number = table.number(scheme.Scheme.AllKnownTypes()[gvk])
	}
	for _, item := range roots {
		fmt.Printf("= %s %s %d\n", item.version, item.kind, item.number)
	}
	for table.done < len(table.order) {
		table.describe(table.order[table.done])
		table.done++
	}
	for number, line := range table.lines {
		fmt.Printf("%d %s\n", number, line)
	}
	return nil
}

func hasMetadata(known reflect.Type) bool {
	_, ok := reflect.New(known).Interface().(metav1.Object)
	return ok
}

// typeTable numbers struct types in the order they are met.
type typeTable struct {
	numbers map[reflect.Type]int
	order   []reflect.Type
	lines   []string
	done    int
}

func (t *typeTable) number(known reflect.Type) int {
	if number, ok := t.numbers[known]; ok {
		return number
	}
	number := len(t.order)
	t.numbers[known] = number
	t.order = append(t.order, known)
	return number
}

func (t *typeTable) describe(known reflect.Type) {
	t.lines = append(t.lines, strings.Join(t.fields(known), ";"))
}

func (t *typeTable) fields(known reflect.Type) []string {
	var fields []string
	for i := 0; i < known.NumField(); i++ {
		field := known.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || (!field.IsExported() && !field.Anonymous) {
			continue
		}
		if name == "" && field.Anonymous {
			fields = append(fields, t.fields(field.Type)...)
			continue
		}
		if name == "" {
			name = field.Name
		}
		mark := "!"
		for _, option := range strings.Split(options, ",") {
			if option == "omitempty" {
				mark = "?"
			}
			if option == "omitzero" {
				mark = "^"
			}
		}
		fields = append(fields, name+mark+t.code(field.Type))
	}
	return fields
}

// code is the letter or number of a type.
func (t *typeTable) code(known reflect.Type) string {
	switch known.String() {
	case "v1.Time":
		return "t"
	case "v1.MicroTime":
		return "m"
	case "v1.Duration":
		return "d"
	case "resource.Quantity":
		return "q"
	case "intstr.IntOrString":
		return "x"
	case "v1.FieldsV1", "runtime.RawExtension", "runtime.Unknown":
		return "r"
	}
	switch known.Kind() {
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Int16, reflect.Int8,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "i"
	case reflect.Float32, reflect.Float64:
		return "f"
	case reflect.Interface:
		return "v"
	case reflect.Pointer:
		return "*" + t.code(known.Elem())
	case reflect.Slice:
		if known.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		return "[" + t.code(known.Elem())
	case reflect.Map:
		return "{" + t.code(known.Elem())
	case reflect.Struct:
		if reflect.PointerTo(known).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return "?" + known.String()
		}
		return fmt.Sprint(t.number(known))
	}
	return "?" + known.String()
}
