// The rules of n8n for community nodes: all three sets of eslint-plugin-n8n-nodes-base, and those of n8n's own plugin,
// with which n8n checks packages that are submitted to it.
import parser from "@typescript-eslint/parser";
import community from "@n8n/eslint-plugin-community-nodes";
import base from "eslint-plugin-n8n-nodes-base";

const plugins = { "n8n-nodes-base": base };
const rules = (name, off = []) =>
  Object.fromEntries(Object.keys(base.configs[name].rules).map((rule) => [rule, off.includes(rule) ? "off" : "error"]));

export default [
  { ignores: ["dist", "node_modules", "test", "*.mjs"] },
  { files: ["**/*.ts", "package.json"], languageOptions: { parser, parserOptions: { extraFileExtensions: [".json"] } } },
  { files: ["**/*.ts", "package.json"], ...community.configs.recommended },
  {
    files: ["nodes/**/*.ts"],
    plugins,
    // n8n's own plugin forbids the literals that these two demand.
    rules: rules("nodes", [
      "n8n-nodes-base/node-class-description-inputs-wrong-regular-node",
      "n8n-nodes-base/node-class-description-outputs-wrong",
    ]),
  },
  {
    files: ["credentials/**/*.ts"],
    plugins,
    // The two rules of the URL of the documentation contradict each other: this is that of packages outside n8n.
    rules: rules("credentials", ["n8n-nodes-base/cred-class-field-documentation-url-miscased"]),
  },
  { files: ["package.json"], plugins, rules: rules("community") },
];
