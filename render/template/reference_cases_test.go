package template

// referenceCases are templates that are filled with referenceData here and by the
// npm package in node.
const referenceCases = `
{{name}}
§
{{html}} {{{html}}} {{&html}}
§
a {{zero}} b {{one}} c {{pi}} {{big}} {{small}} {{minus}}
§
{{yes}} {{no}} [{{nothing}}] [{{empty}}] [{{missing}}]
§
{{list}} {{none}} {{map}} {{nested}}
§
{{unicode}} {{title}}
§
{{text}}
§
{{deep.a.b.c}} {{deep/a/b/c}} {{deep.a.b}} {{deep.x.y.z}}
§
{{[spaced key]}} {{dashed-key}} {{deep.[name]}} {{map.[3]}} {{map.3}}
§
{{"name"}} {{'spaced key'}} {{"missing"}}
§
{{12}} {{true}} {{null}} {{undefined}}
§
{{this.name}} {{./name}} {{this/name}} {{this}}
§
{{list.length}} {{list.0}} {{list.[1]}} {{name.length}}
§
{{people.1.name}} {{people.[0].tags.[1]}} {{people.9.name}}
§
{{#if yes}}1{{/if}}{{#if no}}2{{/if}}{{#if zero}}3{{/if}}{{#if empty}}4{{/if}}{{#if none}}5{{/if}}{{#if list}}6{{/if}}{{#if map}}7{{/if}}{{#if nothing}}8{{/if}}
§
{{#if zero includeZero=true}}z{{else}}n{{/if}}
§
{{#if no}}a{{else if yes}}b{{else}}c{{/if}} {{#if no}}a{{else if no}}b{{else}}c{{/if}}
§
{{#if no}}a{{else unless yes}}b{{else with deep}}{{name}}{{/if}}
§
{{#unless no}}a{{else}}b{{/unless}} {{#unless yes}}a{{else}}b{{/unless}}
§
{{^if yes}}a{{/if}}{{^if no}}b{{/if}}
§
{{^no}}no{{/no}}{{^yes}}yes{{/yes}}{{^none}}none{{/none}}{{^list}}list{{/list}}
§
{{#yes}}y{{^}}n{{/yes}} {{#no}}y{{^}}n{{/no}}
§
{{#list}}{{.}},{{/list}} {{#none}}x{{/none}} {{#deep}}{{name}}{{/deep}} {{#name}}{{this}}{{/name}} {{#zero}}{{this}}{{/zero}} {{#one}}{{this}}{{/one}}
§
{{#people}}{{name}}{{@index}}{{/people}}
§
{{#each list}}{{this}}{{@index}}{{@key}}{{@first}}{{@last}};{{/each}}
§
{{#each map}}{{@key}}={{this}} {{@first}} {{@last}} {{@index}};{{/each}}
§
{{#each none}}x{{else}}none{{/each}} {{#each missing}}x{{else}}missing{{/each}} {{#each nothing}}x{{^}}nothing{{/each}}
§
{{#each people}}{{name}}:{{#each tags}}{{this}}/{{../name}}/{{../../name}} {{else}}-{{/each}};{{/each}}
§
{{#each people as |p i|}}{{i}}{{p.name}}{{name}} {{/each}}
§
{{#each map as |v k|}}{{k}}:{{v}} {{/each}}
§
{{#each nested as |row r|}}{{#each row as |cell c|}}{{r}}{{c}}={{cell}} {{/each}}{{/each}}
§
{{#each nested}}{{#each this}}{{@../index}}.{{@index}}={{this}} {{/each}}{{/each}}
§
{{#each nested}}{{#each .}}{{@root.name}}{{@first}}{{@../first}}{{@../last}} {{/each}}{{/each}}
§
{{#each name}}{{this}}{{/each}} {{#each one}}x{{else}}y{{/each}}
§
{{#with deep}}{{name}} {{../name}} {{@root.name}} {{a.b.c}}{{/with}}
§
{{#with missing}}x{{else}}y{{/with}} {{#with none}}x{{else}}y{{/with}} {{#with empty}}x{{^}}y{{/with}} {{#with zero}}x{{else}}z{{/with}}
§
{{#with deep as |d|}}{{d.name}} {{name}} {{#with d.a as |e|}}{{e.b.c}}{{d.name}}{{../name}}{{/with}}{{/with}}
§
{{#with order.customer}}{{name}}{{/with}} {{#each order.lines}}{{sku}}x{{qty}} {{../order.customer.name}} {{/each}}
§
{{lookup map "k1"}} {{lookup list 1}} {{lookup list missing}} {{lookup map key}} {{lookup . key}} {{lookup this "name"}} {{lookup missing "a"}}
§
{{lookup (lookup people 0) "name"}} {{#with (lookup people 1)}}{{name}}{{/with}}
§
{{#each list}}{{lookup ../list @index}}{{/each}}
§
{{#each list}}{{#if @first}}F{{/if}}{{#if @last}}L{{/if}}{{#unless @last}},{{/unless}}{{/each}}
§
{{log "x"}}{{log name level="error"}}after
§
{{! comment }}a{{!-- comment {{name}} --}}b{{!-- -- --}}c{{! a
b }}d
§
a {{!-- x --}} b
  {{! alone }}
c
§
  {{~name~}}  x {{~#if yes~}}  y  {{~/if~}}  z
§
a  {{~{html}~}}  b {{~&html~}} c {{~> row~}} d {{~! c ~}} e {{~!-- c --~}} f
§
a
{{#if yes}}
b
{{/if}}
c
§
a
  {{#if no}}
b
  {{else}}
  d
  {{/if}}
c
§
a
  {{#if no}}
b
  {{else if yes}}
  d
  {{/if}}
c
§
{{#each list}}
  {{this}}
{{/each}}
end
§
{{#each list}}

{{this}}

{{/each}}

end
§
 {{#if yes}} x {{/if}} 
y
§
{{#if yes}}{{#if yes}}
nested
{{/if}}{{/if}}
§
{{#if yes~}}
   x
{{~else~}}
   y
{{~/if}}
§
{{#each people~}}
  {{name}}
  {{~#each tags~}}
    {{this}}
  {{~/each~}}
{{~/each}}
§
\{{name}} \\{{name}} \\\{{name}} x\{{name}}y{{name}}
§
\{{#if x}} {{name}} \{{/if}}
§
\{{a}}\{{b}}{{name}}\{{c}}
§
{ {name} } { {{name}} } {{ name }} {{  name  }} {{
name
}}
§
{{{{raw}}}} {{name}} {{{{/raw}}}}
§
{{{{yes}}}}{{name}} {{{html}}}{{{{/yes}}}}
§
{{{{if yes}}}} {{x}} {{{{/if}}}}
§
{{{{if no}}}} {{x}} {{{{/if}}}}
§
{{{{each list}}}}{{this}}{{{{/each}}}}
§
{{{{yes}}}}a {{{{no}}}}b{{{{/no}}}} c{{{{/yes}}}}
§
{{> row}} {{> row deep}} {{> row name="Set"}} {{> row deep name="Set"}}
§
{{>row}}{{> "row"}}{{> 'row'}}{{> dir/file}}{{> [row]}}{{> empty}}
§
{{> (lookup . "which")}} {{> (lookup this 'which') deep}}
§
{{> missing}}
§
{{#> missing}}fallback {{name}}{{/missing}}
§
{{#> block}}content {{name}}{{/block}} {{#> inner}}unused{{/inner}} {{#> hole}}h{{/hole}} {{> hole}}
§
{{#> block}}{{#> block}}twice {{name}}{{/block}}{{/block}}
§
{{#each people}}{{> row}}{{/each}} {{#each list}}{{> row name=this}}{{/each}}
§
{{#each people}}{{> params a=@index b=../name}};{{/each}}
§
{{> params a=1 b="x"}} {{> params deep a=name b=deep.a.b.c}}
§
  {{> indented}}
x
§
a {{> indented}} b
§
  {{> indented deep}}
    {{> indented}}
x
§
{{#each list}}
  {{> indented}}
{{/each}}
§
{{#*inline "mine"}}<{{name}}>{{/inline}}{{> mine}}{{> mine deep}}
§
{{#*inline "row"}}over {{name}}{{/inline}}{{> row}}
§
{{#if yes}}{{#*inline "here"}}h{{/inline}}{{> here}}{{/if}}
§
{{#if yes}}{{#*inline "here"}}h{{/inline}}{{/if}}{{> here}}
§
{{#*inline "slot"}}filled {{name}}{{/inline}}{{> hole}}
§
{{#> layout}}{{#*inline "head"}}HEAD{{/inline}}body{{/layout}}
§
{{#each list}}{{#*inline "i"}}{{this}}{{@index}}{{/inline}}{{> i}}{{/each}}
§
{{#*inline "a"}}{{> b}}{{/inline}}{{#*inline "b"}}B{{/inline}}{{> a}}
§
{{#with deep}}{{> root}}{{/with}} {{#each people}}{{> root}} {{/each}}
§
{{#each people as |p|}}{{> row p}}{{/each}}
§
{{#with deep as |x|}}{{#*inline "bp"}}{{x.name}}{{/inline}}{{> bp}}{{/with}}
§
{{*decorator}}
§
{{#*unknown "x"}}a{{/unknown}}
§
{{unknown 1}}
§
{{#unknown 1}}x{{/unknown}}
§
{{name 1}}
§
{{#if}}x{{/if}}
§
{{#if yes no}}x{{/if}}
§
{{#each}}x{{/each}}
§
{{#with}}x{{/with}}
§
{{#if yes}}x
§
{{#if yes}}x{{/each}}
§
x{{/if}}
§
{{name
§
{{name}
§
{{{name}}
§
{{#if (lookup map "k1")}}yes{{/if}} {{#each (lookup this "list")}}{{this}}{{/each}}
§
{{lookup (lookup (lookup deep "a") "b") "c"}}
§
{{#if (lookup map "nope")}}yes{{else}}no{{/if}}
§
{{lookup map (lookup list 0)}}
§
{{(lookup map "k1")}}
§
{{constructor}} {{deep.constructor}} {{list.constructor}} {{name.constructor}} {{deep.__proto__}} {{__proto__}} {{deep.toString}} {{lookup deep "constructor"}} {{lookup list "__proto__"}}
§
{{#with constructor}}{{this}}{{/with}} {{#with __proto__}}x{{else}}y{{/with}} {{#each deep.a.__proto__}}x{{else}}y{{/each}}
§
{{deep.hasOwnProperty}} {{#if deep.valueOf}}x{{else}}y{{/if}} {{__defineGetter__}} {{__lookupGetter__}}
§
{{name.toUpperCase}} {{list.join}} {{list.push}}
§
{{first}} {{length}} {{title}}
§
{{#each people}}{{@index}}{{#if name}}{{name}}{{else}}?{{/if}}{{/each}}
§
{{@root}} {{@missing}} {{@root.deep.name}} {{#with deep}}{{@root.[spaced key]}}{{/with}}
§
{{@index}} {{#each list}}{{@root.name}}{{/each}} {{../name}} {{../../x}}
§
{{#each people}}{{#if ../yes}}{{../name}}-{{name}}{{/if}}{{/each}}
§
{{#each people}}{{#with this}}{{../../name}}{{../name}}{{name}}{{/with}}{{/each}}
§
{{#each people}}{{#each ../list}}{{this}}{{../age}}{{/each}}|{{/each}}
§
{{#with order}}{{#each lines}}{{sku}} {{../customer.name}} {{../../name}};{{/each}}{{/with}}
§
{{#list}}{{#../people}}{{name}}{{/../people}}{{/list}}
§
{{#deep.a}}{{b.c}}{{/deep.a}} {{#order.lines}}{{sku}}{{/order.lines}}
§
{{#each order.lines}}{{#if @first}}first {{/if}}{{sku}}{{#if @last}} last{{/if}} {{/each}}
§
<a href="{{html}}" title='{{name}}'>{{{html}}}</a>
§
<script>var x = {{{name}}};</script>{{html}}
§
{{#if yes}}{{html}}{{else}}{{{html}}}{{/if}}
§
{{deep.a.b.c}}{{deep.name}}{{deep.a.missing}}{{deep.missing.x}}
§
{{else}}
§
{{^}}
§
{{#if yes}}a{{else}}b{{else}}c{{/if}}
§
{{#if yes}}a{{^}}b{{/if}}
§
{{}}
§
{{ }}
§
{{> }}
§
{{#}}x{{/}}
§
{{name}}{{
§
{{!-- unclosed
§
{{! unclosed
§
{{"a" "b"}}
§
{{lookup map 'k1'}} {{lookup map "k\"1"}} {{lookup map 'k\'1'}}
§
{{lookup list -1}} {{lookup list 0.5}} {{lookup list 00}}
§
{{lookup map true}} {{lookup map null}} {{lookup map undefined}}
§
{{if yes "x"}}
§
{{#each list}}{{#each ../people}}{{@../index}}{{@index}} {{/each}}{{/each}}
§
{{#each list as |x|}}{{#each ../people as |y|}}{{x}}{{y.name}} {{/each}}{{/each}}
§
{{#each people as |p|}}{{#with p as |q|}}{{q.name}}{{p.age}} {{/with}}{{/each}}
§
{{#each list as |name|}}{{name}}{{/each}} {{name}}
§
{{#each people as |this|}}x{{/each}}
§
{{#each list as ||}}x{{/each}}
§
{{#if yes as |x|}}{{x}}{{/if}}
§
{{name.[length]}} {{list.[length]}} {{[list].[0]}} {{[deep].[a].[b].[c]}}
§
{{./list.0}} {{this.list.1}} {{list/2}}
§
{{name.}} 
§
{{.name}}
§
{{../}}
§
{{a..b}}
§
{{deep/../name}}
§
{{#each list}}{{.}}{{./this}}{{this.this}}{{/each}}
§
{{#each (lookup . "people")}}{{name}}{{/each}}
§
{{#> (lookup . "which")}}x{{/undefined}}
§
{{> row this}} {{> row .}} {{> row ..}} {{> row people.0}}
§
{{> row deep people}}
§
{{> tree name="r"}}
§
{{#with (lookup . "deep")}}{{> row}}{{/with}}
§
{{#*inline "p"}}{{#if yes}}{{> @partial-block}}{{/if}}{{/inline}}{{#> p}}pb{{/p}}
§
{{#*inline "p"}}{{#each list}}{{> @partial-block this}}{{/each}}{{/inline}}{{#> p}}[{{this}}]{{/p}}
§
{{#*inline "outer"}}o{{#> @partial-block}}none{{/@partial-block}}{{/inline}}{{#> outer}}i{{/outer}}
§
{{> @partial-block}}
§
{{#each people}}{{#> block}}{{name}}{{@index}}{{/block}}{{/each}}
§
{{#> block deep}}{{name}}{{../name}}{{/block}}
§
{{#> block name="H"}}{{name}}{{/block}}
§
{{#if yes}}
  {{> row}}
{{/if}}
end
§
x
{{> row}}
y
§
x
{{~> row}}
y
§
x
{{> row~}}
y
§
  {{#each list}}
    - {{this}}
  {{/each}}
tail
§
{{#if yes}}

a

{{/if}}

b
§
{{#if yes}} {{! c }} {{/if}}
§
{{!-- a --}}
{{!-- b --}}
x
§
<ul>
{{#each people}}
  <li>{{name}}{{#if tags}} (
    {{#each tags}}
      {{this}}{{#unless @last}}, {{/unless}}
    {{/each}}
  ){{/if}}</li>
{{/each}}
</ul>
§
line1
{{name}}
line3
§
{{#each list~}} {{this}} {{~/each}}
§
{{#each list}} {{~this~}} {{/each}}
§
{{~#each list}} {{this}} {{/each~}} x
§
{{#if yes}}{{~name~}}{{/if}}
§
{{~}}
§
{{~ name ~}} x
§
{{{ html }}} {{{html }}} {{{ html}}}
§
{{{{ yes }}}} x {{{{/yes}}}}
§
{{&  html}}
§
{{& html }}
§
{{#each people}}{{age}}{{#if (lookup this "name")}}!{{/if}} {{/each}}
§
{{#unless (lookup map "zz")}}none{{/unless}}
§
{{#each map}}{{#with @key}}{{this}}{{/with}}{{/each}}
§
{{#each list}}{{@index}}{{#each ../nested}}{{@index}}{{@../index}}{{#each this}}{{@../../index}}{{/each}}{{/each}} {{/each}}
§
{{@root.people.0.name}} {{@root.[name]}} {{@root/name}}
§
{{#each people}}{{@root.list.[0]}}{{/each}}
§
{{#with "literal"}}{{this}}{{/with}} {{#with 5}}{{this}}{{/with}} {{#if "x"}}y{{/if}} {{#if 0}}a{{else}}b{{/if}} {{#each "str"}}x{{else}}e{{/each}}
§
{{#if null}}a{{else}}b{{/if}}{{#if undefined}}a{{else}}b{{/if}}{{#if true}}a{{/if}}{{#if false}}a{{else}}b{{/if}}
§
{{#if ''}}a{{else}}b{{/if}}
§
日本 {{name}} ü {{unicode}} 🎉{{#if yes}}✓{{/if}}
§
{{#if yes}}
{{/if}}
§
{{#each list}}{{/each}}
§
{{#each list}}
{{/each}}x
§
a{{#if yes}}
b{{/if}}
c
§
a
{{#if yes}}b
{{/if}}c
§
$ % & ' " < > {{name}} ` + "`" + `=
§
{{$x}} {{a-b}} {{a:b}} {{a_b}} {{été}}
§
{{foo-bar.baz_qux}} {{a.b-c}}
§
{{#dashed-key}}{{this}}{{/dashed-key}}
§
{{deep.name}}}
§
{{{deep.name}}}}
§
x } {{name}} { }} {{name}}
§
{{#each people}}{{name}}{{else}}x{{/each}} {{^people}}none{{/people}} {{^missing}}m{{/missing}}
§
{{^deep.x}}inverse{{/deep.x}} {{^deep.a}}x{{else}}y{{/deep.a}}
§
{{#each list}}{{#if @index}}, {{/if}}{{this}}{{/each}}
§
{{#no}}a{{else}}b{{/no}} {{#no}}a{{else if yes}}c{{/no}}
`
