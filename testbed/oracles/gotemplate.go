package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"text/template"
)

func init() { commands["gotemplate"] = runTemplates }

// templateCase is one template with its data. The library "recorded" has the few functions of the recorded
// cases, "helm" those of a chart.
type templateCase struct {
	Template   string         `json:"template"`
	Data       map[string]any `json:"data"`
	MissingKey string         `json:"missingkey"`
	Library    string         `json:"library"`
}

// templateAnswer has the output, or the error with what had been written by then.
type templateAnswer struct {
	Out string `json:"out"`
	Err string `json:"err,omitempty"`
}

// runTemplates reads a case a line and prints an answer a line.
func runTemplates() error {
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for {
		var item templateCase
		if err := in.Decode(&item); errors.Is(err, io.EOF) {
			return out.Flush()
		} else if err != nil {
			return err
		}
		if err := encoder.Encode(executeTemplate(item)); err != nil {
			return err
		}
	}
}

func executeTemplate(item templateCase) templateAnswer {
	missing := item.MissingKey
	if missing == "" {
		missing = "zero"
	}
	t := template.New("t.yaml").Option("missingkey=" + missing)
	if item.Library == "helm" {
		t.Funcs(helmFunctions(t))
	} else {
		t.Funcs(recordedFunctions(t))
	}
	if _, err := t.Parse(item.Template); err != nil {
		return templateAnswer{Err: err.Error()}
	}
	var text strings.Builder
	if err := t.Execute(&text, item.Data); err != nil {
		return templateAnswer{Out: text.String(), Err: err.Error()}
	}
	return templateAnswer{Out: text.String()}
}

func executeNamed(t *template.Template, name string, data any) (string, error) {
	var text strings.Builder
	err := t.ExecuteTemplate(&text, name, data)
	return text.String(), err
}

// recordedFunctions are few and plain.
func recordedFunctions(t *template.Template) template.FuncMap {
	open := 0
	nested := func(t *template.Template, name string, data any) (string, error) {
		if open >= 30 {
			return "", errors.New("too many open templates")
		}
		open++
		defer func() { open-- }()
		return executeNamed(t, name, data)
	}
	return template.FuncMap{
		"upper": strings.ToUpper,
		"fail":  func(message string) (string, error) { return "", errors.New(message) },
		"add":   func(a, b any) int64 { return recordedInteger(a) + recordedInteger(b) },
		"int":   func(a any) int { return int(recordedInteger(a)) },
		"dict": func(values ...any) map[string]any {
			dict := map[string]any{}
			for i := 0; i+1 < len(values); i += 2 {
				dict[values[i].(string)] = values[i+1]
			}
			return dict
		},
		"set": func(dict map[string]any, key string, value any) map[string]any {
			dict[key] = value
			return dict
		},
		"include": func(name string, data any) (string, error) { return nested(t, name, data) },
		"tpl": func(text string, data any) (string, error) {
			copied, err := t.Clone()
			if err != nil {
				return "", err
			}
			copied.Funcs(template.FuncMap{"include": func(name string, data any) (string, error) {
				return nested(copied, name, data)
			}})
			copied, err = copied.New("gotpl").Parse(text)
			if err != nil {
				return "", err
			}
			return nested(copied, "gotpl", data)
		},
	}
}

func recordedInteger(value any) int64 {
	switch value := value.(type) {
	case int:
		return int64(value)
	case int64:
		return value
	case float64:
		return int64(value)
	}
	return 0
}
