package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func init() {
	commands["cel"] = runCel
	commands["cel-health"] = runCelHealth
}

// celCase is one expression and what it sees. With Variables it is compiled (checked against them), else
// only parsed. Output is what the caller asks for: "bool", "string", or "" for any value.
type celCase struct {
	Expression string          `json:"expression"`
	Variables  []string        `json:"variables"`
	Output     string          `json:"output"`
	Data       json.RawMessage `json:"data"`
}

// celAnswer is what the library says of one case. Phase is "compile" or "evaluate" when Error is set.
type celAnswer struct {
	Value string `json:"value,omitempty"`
	Phase string `json:"phase,omitempty"`
	Error string `json:"error,omitempty"`
}

// runCel reads a JSON list of cases and prints a list of answers.
func runCel() error {
	var cases []celCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	answers := make([]celAnswer, 0, len(cases))
	for _, one := range cases {
		answers = append(answers, answerCel(one))
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func answerCel(one celCase) (answer celAnswer) {
	phase := "compile"
	defer func() {
		if panicked := recover(); panicked != nil {
			answer = celAnswer{Phase: phase, Error: fmt.Sprint("panic: ", panicked)}
		}
	}()
	var options []cel.Option
	if one.Variables != nil {
		options = append(options, cel.WithCompile(), cel.WithStructVariables(one.Variables...))
		switch one.Output {
		case "bool":
			options = append(options, cel.WithOutputType(celgo.BoolType))
		case "string":
			options = append(options, cel.WithOutputType(celgo.StringType))
		}
	}
	expression, err := cel.NewExpression(one.Expression, options...)
	if err != nil {
		return celAnswer{Phase: phase, Error: err.Error()}
	}
	phase = "evaluate"
	data := map[string]interface{}{}
	if len(one.Data) > 0 {
		if err := utiljson.Unmarshal(one.Data, &data); err != nil {
			return celAnswer{Phase: "input", Error: err.Error()}
		}
	}
	limit, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var value string
	switch one.Output {
	case "bool":
		var truth bool
		truth, err = expression.EvaluateBoolean(limit, data)
		value = strconv.FormatBool(truth)
	case "string":
		value, err = expression.EvaluateString(limit, data)
	default:
		if _, err = expression.Evaluate(limit, data); err == nil {
			value, err = evaluateInList(limit, one.Expression, options, data)
		}
	}
	if err != nil {
		return celAnswer{Phase: phase, Error: err.Error()}
	}
	return celAnswer{Value: value}
}

// evaluateInList evaluates the expression as the element of a list, where types and optional values stay
// what they are.
func evaluateInList(limit context.Context, text string, options []cel.Option, data map[string]interface{}) (string, error) {
	expression, err := cel.NewExpression("["+text+"\n]", options...)
	if err != nil {
		return "", err
	}
	result, err := expression.Evaluate(limit, data)
	if err != nil {
		return "", err
	}
	printed := printCel(types.DefaultTypeAdapter.NativeToValue(result))
	return printed[1 : len(printed)-1], nil
}

// printCel writes a value with its type, maps in the order of their printed keys.
func printCel(value interface{}) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(value)
	case int64:
		return strconv.FormatInt(value, 10)
	case uint64:
		return strconv.FormatUint(value, 10) + "u"
	case float64:
		return "double(" + strconv.FormatFloat(value, 'g', -1, 64) + ")"
	case string:
		return strconv.Quote(value)
	case []byte:
		return "bytes(" + base64.StdEncoding.EncodeToString(value) + ")"
	case time.Time:
		return "timestamp(" + value.UTC().Format(time.RFC3339Nano) + ")"
	case time.Duration:
		return "duration(" + strconv.FormatInt(int64(value), 10) + ")"
	case types.Null:
		return "null"
	case *types.Optional:
		return printCelOptional(value)
	case traits.Lister:
		return printCelList(value)
	case traits.Mapper:
		return printCelMap(value)
	case ref.Type:
		return "type(" + value.TypeName() + ")"
	case ref.Val:
		return printCel(value.Value())
	default:
		if _, null := types.DefaultTypeAdapter.NativeToValue(value).(types.Null); null {
			return "null"
		}
		return printCel(types.DefaultTypeAdapter.NativeToValue(value))
	}
}

func printCelOptional(value *types.Optional) string {
	if value.HasValue() {
		return "optional(" + printCel(value.GetValue()) + ")"
	}
	return "optional()"
}

func printCelList(list traits.Lister) string {
	var buffer bytes.Buffer
	buffer.WriteByte('[')
	for iterator, first := list.Iterator(), true; iterator.HasNext() == types.True; first = false {
		if !first {
			buffer.WriteString(", ")
		}
		buffer.WriteString(printCel(iterator.Next()))
	}
	buffer.WriteByte(']')
	return buffer.String()
}

func printCelMap(entries traits.Mapper) string {
	var lines []string
	for iterator := entries.Iterator(); iterator.HasNext() == types.True; {
		key := iterator.Next()
		lines = append(lines, printCel(key)+": "+printCel(entries.Get(key)))
	}
	sort.Strings(lines)
	var buffer bytes.Buffer
	buffer.WriteByte('{')
	for position, line := range lines {
		if position > 0 {
			buffer.WriteString(", ")
		}
		buffer.WriteString(line)
	}
	buffer.WriteByte('}')
	return buffer.String()
}

// runCelHealth reads a JSON list of {checks, object}: health check expressions for one kind and an object
// of it; it prints the status that Flux sees.
func runCelHealth() error {
	var cases []struct {
		Checks kustomize.HealthCheckExpressions `json:"checks"`
		Object json.RawMessage                  `json:"object"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	answers := make([]celAnswer, 0, len(cases))
	for _, one := range cases {
		content := map[string]interface{}{}
		if err := utiljson.Unmarshal(one.Object, &content); err != nil {
			return err
		}
		evaluator, err := cel.NewStatusEvaluator(&one.Checks)
		if err != nil {
			answers = append(answers, celAnswer{Phase: "compile", Error: err.Error()})
			continue
		}
		result, err := evaluator.Evaluate(context.Background(), &unstructured.Unstructured{Object: content})
		if err != nil {
			answers = append(answers, celAnswer{Phase: "evaluate", Error: err.Error()})
			continue
		}
		answers = append(answers, celAnswer{Value: string(result.Status)})
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}
