package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/artifact/storage"
	"github.com/fluxcd/pkg/sourceignore"
)

// treeCase is a source tree with what its object says about ignoring.
type treeCase struct {
	// Files holds contents by path; a path that ends in a slash is an empty directory.
	Files map[string][]byte `json:"files"`
	// Executables are the paths of files with the executable bit.
	Executables []string `json:"executables"`
	// Ignore is spec.ignore, if set.
	Ignore *string `json:"ignore"`
}

func init() {
	commands["tar"] = func() error {
		var cases []treeCase
		if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
			return err
		}
		tars := make([][]byte, len(cases))
		for i, c := range cases {
			var err error
			if tars[i], err = archiveTree(c); err != nil {
				return fmt.Errorf("case %d: %w", i, err)
			}
		}
		return json.NewEncoder(os.Stdout).Encode(tars)
	}
}

// archiveTree writes the tree to a directory, archives it as the source-controller does for a
// GitRepository, and gives the tar inside the artifact.
func archiveTree(c treeCase) ([]byte, error) {
	work, err := os.MkdirTemp("", "oracle-tar-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	source, root := filepath.Join(work, "source"), filepath.Join(work, "storage")
	for _, directory := range []string{source, root} {
		if err := os.Mkdir(directory, 0o755); err != nil {
			return nil, err
		}
	}
	executables := map[string]bool{}
	for _, path := range c.Executables {
		executables[path] = true
	}
	for path, contents := range c.Files {
		local := filepath.Join(source, filepath.FromSlash(path))
		if strings.HasSuffix(path, "/") {
			if err := os.MkdirAll(local, 0o755); err != nil {
				return nil, err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(local), 0o755); err != nil {
			return nil, err
		}
		mode := os.FileMode(0o644)
		if executables[path] {
			mode = 0o755
		}
		if err := os.WriteFile(local, contents, mode); err != nil {
			return nil, err
		}
	}
	domain := strings.Split(source, string(filepath.Separator))
	patterns, err := sourceignore.LoadIgnorePatterns(source, domain)
	if err != nil {
		return nil, err
	}
	if c.Ignore != nil {
		patterns = append(patterns, sourceignore.ReadPatterns(strings.NewReader(*c.Ignore), domain)...)
	}
	store := storage.Storage{BasePath: root, Hostname: "localhost"}
	artifact := meta.Artifact{Path: "gitrepository/default/case/artifact.tar.gz"}
	if err := store.MkdirAll(artifact); err != nil {
		return nil, err
	}
	if err := store.Archive(&artifact, source, storage.SourceIgnoreFilter(patterns, domain)); err != nil {
		return nil, err
	}
	compressed, err := os.ReadFile(store.LocalPath(artifact))
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
