package instancetypes

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// maximumSize limits the size of a decompressed file. The largest known one has 10 MB.
const maximumSize = 1 << 30

// Read reads a file of any form, gzipped or not. "-" is stdin. Errors name file, line and field.
func Read(name string, stdin io.Reader, now time.Time) (*Table, error) {
	var text []byte
	var err error
	if name == "-" {
		name = "<stdin>"
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading instance types: %w", err)
	}
	if text, err = decompress(text); err != nil {
		return nil, fmt.Errorf("reading instance types: %s: %w", name, err)
	}
	documents, err := document.Split(name, text)
	if err != nil {
		return nil, err
	}
	if len(documents) != 1 {
		return nil, fmt.Errorf(
			"%s: holds %d documents: instance types are one: a list (Karpenter's kwok form), or an object with "+
				"instanceTypes (the snapshot form)",
			name, len(documents),
		)
	}
	table, err := parse(documents[0], now)
	if err == nil {
		table.Prices = "the file " + name
	}
	return table, err
}

func decompress(text []byte) ([]byte, error) {
	if !bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		return text, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(reader, maximumSize+1))
	if err == nil && len(plain) > maximumSize {
		err = fmt.Errorf("holds more than %d bytes", maximumSize)
	}
	return plain, err
}

// parse recognises the form of a document by its fields.
func parse(d *document.Document, now time.Time) (*Table, error) {
	if text := bytes.TrimSpace(d.JSON); len(text) > 0 && text[0] == '[' {
		return parseKwok(d)
	}
	var shape struct {
		InstanceTypes *[]struct {
			InstanceType string `json:"instanceType"`
			Name         string `json:"name"`
		} `json:"instanceTypes"`
	}
	if err := d.DecodeFold(&shape, "instance types"); err != nil {
		return nil, err
	}
	if shape.InstanceTypes == nil {
		return nil, d.Errorf(
			nil,
			"instance types: instanceTypes: is missing: want a list (Karpenter's kwok form), or an object with "+
				"instanceTypes (the snapshot form)",
		)
	}
	if types := *shape.InstanceTypes; len(types) > 0 && types[0].Name == "" && types[0].InstanceType != "" {
		facts := &catalog.Catalog{}
		if err := json.Unmarshal(d.JSON, facts); err != nil {
			return nil, d.Errorf(nil, "catalogue: %w", err)
		}
		table := OfCatalog(facts, catalog.Observed{}, now)
		table.assume = true
		return table, nil
	}
	return parseSnapshot(d)
}
