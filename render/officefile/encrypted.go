package officefile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/xuri/excelize/v2"
)

// encryptedPackage is the name of the stream of a compound file with an encrypted document of Office Open XML: its size
// in 8 bytes, and its content.
const encryptedPackage = "EncryptedPackage"

// Decrypt replaces an encrypted document of Office Open XML or OpenDocument by its content. False or an error means that
// the file stays as it is: it is no such document, or the password does not open it.
func Decrypt(path, password string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	start := make([]byte, len(zipMagic))
	_, err = io.ReadFull(file, start)
	if err := errors.Join(err, file.Close()); err != nil {
		return false, err
	}
	if string(start) == zipMagic {
		return decryptODF(path, password)
	}
	return decryptOOXML(path, password)
}

// zipMagic is the beginning of a ZIP archive.
const zipMagic = "PK\x03\x04"

func decryptOOXML(path, password string) (bool, error) {
	const header = 8
	c, err := openCompound(path, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer c.Close()
	stream := c.streams[encryptedPackage]
	if stream == nil || stream.Size < header {
		return false, nil
	}
	size := make([]byte, header)
	if _, err := stream.ReadAt(size, 0); err != nil {
		return false, err
	}

	content, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	content, err = excelize.Decrypt(content, &excelize.Options{Password: password})
	if err != nil {
		return false, err
	}
	// The last block is filled up.
	content = content[:min(uint64(len(content)), binary.LittleEndian.Uint64(size))]
	if _, err := zip.NewReader(bytes.NewReader(content), int64(len(content))); err != nil {
		return false, nil // The password is another one.
	}
	return true, os.WriteFile(path, content, 0o600) //nolint:gosec // The path is that of the job's own file.
}
