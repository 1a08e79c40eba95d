package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	yaml3 "go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	sigs "sigs.k8s.io/yaml"
)

func init() {
	commands["yaml-read"] = readYAML
	commands["yaml-write"] = writeYAML
}

// yamlReading holds what each library makes of a text: JSON, or in the case of Text kyaml's own YAML.
type yamlReading struct {
	Sigs   yamlResult `json:"sigs"`
	Strict yamlResult `json:"strict"`
	V3     yamlResult `json:"v3"`
	Kyaml  yamlResult `json:"kyaml"`
	Text   yamlResult `json:"text"`
}

// yamlResult is an output or the text of an error.
type yamlResult struct {
	Out   string `json:"out"`
	Error string `json:"error"`
}

func resultOf(out []byte, err error) yamlResult {
	if err != nil {
		return yamlResult{Error: err.Error()}
	}
	return yamlResult{Out: string(out)}
}

// guard turns a crash of a library into an error.
func guard(run func() ([]byte, error)) (result yamlResult) {
	defer func() {
		if problem := recover(); problem != nil {
			result = yamlResult{Error: fmt.Sprint("panic: ", problem)}
		}
	}()
	return resultOf(run())
}

// readYAML reads each text of a JSON list with sigs.k8s.io/yaml, yaml.v3 and kyaml.
func readYAML() error {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	readings := make([]yamlReading, len(texts))
	for i, text := range texts {
		readings[i] = yamlReading{
			Sigs:   guard(func() ([]byte, error) { return sigs.YAMLToJSON([]byte(text)) }),
			Strict: guard(func() ([]byte, error) { return sigs.YAMLToJSONStrict([]byte(text)) }),
			V3:     guard(func() ([]byte, error) { return jsonByV3(text) }),
			Kyaml:  guard(func() ([]byte, error) { return jsonByKyaml(text) }),
			Text:   guard(func() ([]byte, error) { return textByKyaml(text) }),
		}
	}
	return json.NewEncoder(os.Stdout).Encode(readings)
}

func jsonByV3(text string) ([]byte, error) {
	var value any
	if err := yaml3.Unmarshal([]byte(text), &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func jsonByKyaml(text string) ([]byte, error) {
	node, err := kyaml.Parse(text)
	if err != nil {
		return nil, err
	}
	return node.MarshalJSON()
}

func textByKyaml(text string) ([]byte, error) {
	node, err := kyaml.Parse(text)
	if err != nil {
		return nil, err
	}
	out, err := node.String()
	return []byte(out), err
}

// yamlWriting holds a value as each library writes it: sigs.k8s.io/yaml, yaml.v3 with an indent of two, and
// kyaml.
type yamlWriting struct {
	Sigs  yamlResult `json:"sigs"`
	V3    yamlResult `json:"v3"`
	Kyaml yamlResult `json:"kyaml"`
}

// writeYAML writes each value of a JSON list; all its numbers are floats.
func writeYAML() error {
	var values []any
	if err := json.NewDecoder(os.Stdin).Decode(&values); err != nil {
		return err
	}
	writings := make([]yamlWriting, len(values))
	for i, value := range values {
		writings[i] = yamlWriting{
			Sigs: guard(func() ([]byte, error) { return sigs.Marshal(value) }),
			V3: guard(func() ([]byte, error) {
				var out bytes.Buffer
				encoder := yaml3.NewEncoder(&out)
				encoder.SetIndent(2)
				err := encoder.Encode(value)
				return out.Bytes(), err
			}),
			Kyaml: guard(func() ([]byte, error) {
				var out bytes.Buffer
				err := kyaml.NewEncoder(&out).Encode(value)
				return out.Bytes(), err
			}),
		}
	}
	return json.NewEncoder(os.Stdout).Encode(writings)
}
