package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Decrypt makes a document open without a password, for tools that accept passwords on
// their command line only. It reports whether the document was encrypted before.
func Decrypt(ctx context.Context, d *Document) (encrypted bool, err error) {
	// The entry is never inside compressed or encrypted data. If it is elsewhere without a meaning, the copy does
	// no harm.
	if encrypted, err = FileContains(d.Work.Path(d.Name), "/Encrypt"); !encrypted || err != nil {
		return false, err
	}
	name := "plain" + strconv.Itoa(d.Number) + ".pdf"
	if _, err := QPDF(ctx, d.Work, QPDFJob{"inputFile": d.Name, "password": d.Password, "decrypt": "", "outputFile": name}); err != nil {
		return false, d.Damaged(err)
	}
	d.Name = name
	d.Password = ""
	return true, nil
}

// Settle gives a document a correct table of objects, if its table is wrong. MuPDF repairs a table when it comes to
// an object that is elsewhere, and loses the objects that it has added by then.
func Settle(ctx context.Context, d *Document) error {
	_, err := d.SoundFile(ctx)
	var failed *Error
	if errors.As(err, &failed) && failed.Kind == Damaged {
		return nil // MuPDF may read it all the same.
	}
	return err
}

// WriteFlat writes a document in which comments and fields, which have appearances, are part of their pages: those
// shown on screen, or all.
func (d *Document) WriteFlat(ctx context.Context, to, which string) error {
	return d.WriteTo(ctx, to, QPDFJob{"flattenAnnotations": which, "objectStreams": "disable"})
}

// FlattenChanges describes the fields and comments of a document that become part of its pages.
func (s *Structure) FlattenChanges() (changes []string) {
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

// PoorerText describes fields that lose letters.
const PoorerText = "Characters of these fields or comments are missing, because no installed font has them: %s."

// Finish makes a file of the job's folder its result: encrypted if the original is encrypted, and with its objects
// in streams if those of the original are. The programs that change pages do not preserve this.
func Finish(ctx context.Context, original *Document, encrypted bool, name string) error {
	packed, err := FileContains(original.Work.Path(original.Name), "/ObjStm")
	if err != nil {
		return err
	}

	if !encrypted && !packed {
		if err := os.Rename(original.Work.Path(name), original.Work.Path(Output)); err != nil {
			return fmt.Errorf("result: %w", err)
		}
		original.Work.Output(Output)
		return nil
	}

	job := QPDFJob{"inputFile": name, "outputFile": Output}
	if encrypted {
		job["copyEncryption"], job["encryptionFilePassword"] = original.Name, original.Password
	}
	if packed {
		job["objectStreams"] = "generate"
	}

	if _, err := QPDF(ctx, original.Work, job); err != nil {
		return original.Damaged(err)
	}
	original.Work.Output(Output)
	return nil
}
