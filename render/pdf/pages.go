package pdf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// decrypt makes a document open without a password, for tools that accept passwords on
// their command line only. It reports whether the document was encrypted before.
func decrypt(ctx context.Context, d *document) (encrypted bool, err error) {
	// The entry is never inside compressed or encrypted data. If it is elsewhere without a meaning, the copy does
	// no harm.
	if encrypted, err = contains(d.work.Path(d.name), "/Encrypt"); !encrypted || err != nil {
		return false, err
	}
	name := "plain" + strconv.Itoa(d.number) + ".pdf"
	if _, err := qpdf(ctx, d.work, qpdfJob{"inputFile": d.name, "password": d.password, "decrypt": "", "outputFile": name}); err != nil {
		return false, d.damaged(err)
	}
	d.name = name
	d.password = ""
	return true, nil
}

// settle gives a document a correct table of objects, if its table is wrong. MuPDF repairs a table when it comes to
// an object that is elsewhere, and loses the objects that it has added by then.
func settle(ctx context.Context, d *document) error {
	_, err := d.soundFile(ctx)
	var failed *Error
	if errors.As(err, &failed) && failed.Kind == Damaged {
		return nil // MuPDF may read it all the same.
	}
	return err
}

// writeFlat writes a document in which comments and fields, which have appearances, are part of their pages: those
// shown on screen, or all.
func (d *document) writeFlat(ctx context.Context, to, which string) error {
	return d.writeTo(ctx, to, qpdfJob{"flattenAnnotations": which, "objectStreams": "disable"})
}

// flattened describes the fields and comments of a document that become part of its pages.
func (s *structure) flattened() (changes []string) {
	fields := 0
	comments := 0
	for _, page := range s.Pages {
		list, _ := s.Target(s.Dict(page.Object)["/Annots"]).([]any)
		for _, item := range list {
			switch s.Target(s.Entry(item)["/Subtype"]) {
			case "/Widget":
				fields++
			case "/Link", "/Popup", "/PrinterMark", nil:
			default:
				comments++
			}
		}
	}

	if fields > 0 {
		changes = append(changes, fmt.Sprintf("Form fields (%d) were flattened into their pages, with their values.", fields))
	}
	if comments > 0 {
		changes = append(changes, fmt.Sprintf("Comments and drawings (%d) were flattened into their pages.", comments))
	}
	return changes
}

// poorerText describes fields that lose letters.
const poorerText = "Characters of these fields or comments are missing, because no installed font has them: %s."

// finish makes a file of the job's folder its result: encrypted if the original is encrypted, and with its objects
// in streams if those of the original are. The programs that change pages do not preserve this.
func finish(ctx context.Context, original *document, encrypted bool, name string) error {
	packed, err := contains(original.work.Path(original.name), "/ObjStm")
	if err != nil {
		return err
	}

	if !encrypted && !packed {
		if err := os.Rename(original.work.Path(name), original.work.Path(output)); err != nil {
			return fmt.Errorf("result: %w", err)
		}
		original.work.Output(output)
		return nil
	}

	job := qpdfJob{"inputFile": name, "outputFile": output}
	if encrypted {
		job["copyEncryption"], job["encryptionFilePassword"] = original.name, original.password
	}
	if packed {
		job["objectStreams"] = "generate"
	}

	if _, err := qpdf(ctx, original.work, job); err != nil {
		return original.damaged(err)
	}
	original.work.Output(output)
	return nil
}
