package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	goyaml "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// helmFunctions are sprig's and those that Helm adds, as a chart sees them without a cluster.
func helmFunctions(t *template.Template) template.FuncMap {
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	maps.Copy(functions, template.FuncMap{
		"toYaml":        func(value any) string { return orEmpty(yamlText(value)) },
		"mustToYaml":    func(value any) string { return orPanic(yamlText(value)) },
		"toYamlPretty":  func(value any) string { return orEmpty(prettyYaml(value)) },
		"toToml":        func(value any) string { return orMessage(tomlText(value)) },
		"mustToToml":    func(value any) string { return orPanic(tomlText(value)) },
		"toJson":        func(value any) string { return orEmpty(jsonText(value)) },
		"mustToJson":    func(value any) string { return orPanic(jsonText(value)) },
		"fromYaml":      func(text string) map[string]any { return readMap(text, sigsUnmarshal) },
		"fromJson":      func(text string) map[string]any { return readMap(text, json.Unmarshal) },
		"fromToml":      func(text string) map[string]any { return readMap(text, toml.Unmarshal) },
		"fromYamlArray": func(text string) []any { return readList(text, sigsUnmarshal) },
		"fromJsonArray": func(text string) []any { return readList(text, json.Unmarshal) },
		"getHostByName": func(string) string { return "" },
		"lookup": func(string, string, string, string) (map[string]any, error) {
			return map[string]any{}, nil
		},
		"required": func(message string, value any) (any, error) {
			if value == nil || value == "" {
				return value, errors.New(message)
			}
			return value, nil
		},
		"include": includeHelm(t, map[string]int{}),
		"tpl":     tplHelm(t, map[string]int{}),
	})
	return functions
}

func includeHelm(t *template.Template, open map[string]int) func(string, any) (string, error) {
	return func(name string, data any) (string, error) {
		if open[name] > 1000 {
			return "", fmt.Errorf("rendering template has a nested reference name: %s: unable to execute template", name)
		}
		open[name]++
		defer func() { open[name]-- }()
		return executeNamed(t, name, data)
	}
}

func tplHelm(t *template.Template, open map[string]int) func(string, any) (string, error) {
	return func(text string, data any) (string, error) {
		copied, err := t.Clone()
		if err != nil {
			return "", err
		}
		copied.Funcs(template.FuncMap{"include": includeHelm(copied, open), "tpl": tplHelm(copied, open)})
		copied, err = copied.New(t.Name()).Parse(text)
		if err != nil {
			return "", fmt.Errorf("cannot parse template %q: %w", text, err)
		}
		var out strings.Builder
		if err := copied.Execute(&out, data); err != nil {
			return "", fmt.Errorf("error during tpl function execution for %q: %w", text, err)
		}
		return strings.ReplaceAll(out.String(), "<no value>", ""), nil
	}
}

func yamlText(value any) (string, error) {
	text, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(text), "\n"), err
}

func prettyYaml(value any) (string, error) {
	var text bytes.Buffer
	encoder := goyaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

func tomlText(value any) (string, error) {
	var text bytes.Buffer
	err := toml.NewEncoder(&text).Encode(value)
	return text.String(), err
}

func jsonText(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

func sigsUnmarshal(text []byte, into any) error { return yaml.Unmarshal(text, into) }

func orEmpty(text string, err error) string {
	if err != nil {
		return ""
	}
	return text
}

func orPanic(text string, err error) string {
	if err != nil {
		panic(err)
	}
	return text
}

func orMessage(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}

func readMap(text string, unmarshal func([]byte, any) error) map[string]any {
	values := map[string]any{}
	if err := unmarshal([]byte(text), &values); err != nil {
		values["Error"] = err.Error()
	}
	return values
}

func readList(text string, unmarshal func([]byte, any) error) []any {
	values := []any{}
	if err := unmarshal([]byte(text), &values); err != nil {
		return []any{err.Error()}
	}
	return values
}
