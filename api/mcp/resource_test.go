package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/relaypdf/relaypdf/internal/test/apitest"
)

type resource struct {
	URI, Name, Title, Text string
	MIMEType               string `json:"mimeType"`
}

func TestResources(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	s.Send(t, apitest.Request{Path: "/v1/templates", Body: `{"name":"Letter","slug":"letter","html":"<p>{{who}}</p>","sampleData":{"who":"Ada"}}`})
	_, _, others := s.NewAccount(t, "other@example.com")
	var list struct{ Resources []resource }
	if err := json.Unmarshal(ask(t, s, "resources/list", "").Result, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Resources) != 3 || list.Resources[0].URI != "relaypdf://docs/quick-start" || list.Resources[1].URI != "relaypdf://templates/letter" || list.Resources[2].URI != "relaypdf://templates/letter/sample-data" {
		t.Errorf("there are %+v", list.Resources)
	}
	read := func(uri string) (r resource, failed bool) {
		a := ask(t, s, "resources/read", `{"uri":"`+uri+`"}`)
		if a.Error != nil {
			return r, true
		}
		var got struct{ Contents []resource }
		if err := json.Unmarshal(a.Result, &got); err != nil || len(got.Contents) != 1 || got.Contents[0].URI != uri {
			t.Fatalf("%s: %v in %s", uri, err, a.Result)
		}
		return got.Contents[0], false
	}
	if got, _ := read("relaypdf://docs/quick-start"); got.MIMEType != "text/markdown" || !strings.HasPrefix(got.Text, "# Quick start") {
		t.Errorf("the guide is %+v", got)
	}
	if got, _ := read("relaypdf://templates/letter"); got.MIMEType != "application/json" || !strings.Contains(got.Text, "{{who}}") {
		t.Errorf("the template is %+v", got)
	}
	if got, _ := read("relaypdf://templates/letter/sample-data"); got.Text != `{"who":"Ada"}` {
		t.Errorf("its data is %+v", got)
	}
	for _, uri := range []string{"relaypdf://docs/none", "relaypdf://templates/none", "relaypdf://templates/", "file:///etc/passwd"} {
		if got, failed := read(uri); !failed {
			t.Errorf("%s is %+v", uri, got)
		}
	}
	s.Secret = others
	if got, failed := read("relaypdf://templates/letter"); !failed {
		t.Errorf("another account reads %+v", got)
	}
	if err := json.Unmarshal(ask(t, s, "resources/list", "").Result, &list); err != nil || len(list.Resources) != 1 {
		t.Errorf("another account sees %+v (%v)", list.Resources, err)
	}
	var templates struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	if err := json.Unmarshal(ask(t, s, "resources/templates/list", "").Result, &templates); err != nil || len(templates.ResourceTemplates) != 3 {
		t.Errorf("there are %+v (%v)", templates, err)
	}
}

func TestPrompts(t *testing.T) {
	t.Parallel()
	s := newServer(t, open)
	var list struct {
		Prompts []struct {
			Name, Title, Description string
			Arguments                []struct {
				Name     string
				Required bool
			}
		}
	}
	if err := json.Unmarshal(ask(t, s, "prompts/list", "").Result, &list); err != nil || len(list.Prompts) != 3 {
		t.Fatalf("there are %+v (%v)", list.Prompts, err)
	}
	for _, p := range list.Prompts {
		given := map[string]string{}
		for _, a := range p.Arguments {
			if a.Required {
				given[a.Name] = "<<" + a.Name + ">>"
			}
		}
		params, err := json.Marshal(map[string]any{"name": p.Name, "arguments": given})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Messages []struct {
				Role    string
				Content struct{ Text string }
			}
		}
		if err := json.Unmarshal(ask(t, s, "prompts/get", string(params)).Result, &got); err != nil || len(got.Messages) != 1 || got.Messages[0].Role != "user" {
			t.Fatalf("%s: %+v (%v)", p.Name, got, err)
		}
		text := got.Messages[0].Content.Text
		for _, value := range given {
			if !strings.Contains(text, value) {
				t.Errorf("%s does not say %s: %s", p.Name, value, text)
			}
		}
		if strings.Contains(text, "%!") {
			t.Errorf("%s: %s", p.Name, text)
		}
		if a := ask(t, s, "prompts/get", `{"name":"`+p.Name+`"}`); a.Status != http.StatusOK || a.Error == nil || a.Error.Code != -32602 || !strings.Contains(a.Error.Message, "is required") {
			t.Errorf("%s without arguments: %+v", p.Name, a)
		}
	}
	if a := ask(t, s, "prompts/get", `{"name":"none"}`); a.Error == nil || a.Error.Code != -32602 {
		t.Errorf("a prompt that there is none of: %+v", a)
	}
}
