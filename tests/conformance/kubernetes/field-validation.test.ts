/**
 * Conformance tests of Kubernetes for the validation of fields, under the names that they have
 * there.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { Api, applyPatch } from "./api.ts";
import { definitionOf, versionOf } from "./definition.ts";

let plane: TestControlPlane;
let api: Api;
let clusters = 0;
before(async () => {
  plane = await startTestControlPlane({ physicalClusters: false });
});
after(() => plane.close());
beforeEach(() => {
  api = new Api(plane.client.transport, `/clusters/fields${clusters++}`);
});

const spec = {
  type: "object",
  properties: {
    foo: { type: "string" },
    cronSpec: { type: "string" },
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["containerPort"],
      items: {
        type: "object",
        required: ["containerPort"],
        properties: { containerPort: { type: "integer" }, name: { type: "string" } },
      },
    },
  },
};
const strictSchema = { type: "object", properties: { spec } };
const preserving = {
  type: "object",
  properties: { spec },
  "x-kubernetes-preserve-unknown-fields": true,
};
const widgets = "/apis/example.com/v1/namespaces/default/widgets";
const strictly = "?fieldValidation=Strict";
const applied = `&fieldManager=conformance`;

const install = (schema?: object) =>
  api.install(
    definitionOf("widgets", {
      versions: [versionOf("v1", schema === undefined ? {} : { schema })],
    }),
  );
const widget = (name: string, rest: object) => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name },
  ...rest,
});
const apply = (name: string, rest: object) =>
  api.send(
    "PATCH",
    `${widgets}/${name}${strictly}${applied}`,
    JSON.stringify(widget(name, rest)),
    applyPatch,
  );

describe("conformance: field validation", () => {
  it("FieldValidation should create/apply a CR with unknown fields for CRD with no validation schema", async () => {
    await install();
    const body = widget("a", { spec: { unknown: "uk1", cronSpec: "* * * * */5" } });
    await api.expectSuccess("POST", widgets + strictly, body);
    const { status } = await apply("b", { spec: { unknown: "uk1" } });
    assert.equal(status, 201);
  });

  it("FieldValidation should create/apply a valid CR for CRD with validation schema", async () => {
    await install(strictSchema);
    const rest = { spec: { cronSpec: "* * * * */5", ports: [{ name: "x", containerPort: 80 }] } };
    await api.expectSuccess("POST", widgets + strictly, widget("a", rest));
    assert.equal((await apply("b", rest)).status, 201);
  });

  it("FieldValidation should create/apply an invalid CR with extra properties for CRD with validation schema", async () => {
    await install(strictSchema);
    const rest = { spec: { foo: "bar", unknownField: "unknown" } };
    const created = await api.send("POST", widgets + strictly, widget("a", rest));
    assert.equal(created.status, 400);
    assert.match(created.object.message ?? "", /unknown field "spec\.unknownField"/);
    const refused = await apply("a", rest);
    assert.ok(refused.status >= 400);
    assert.match(
      refused.object.message ?? "",
      /\.spec\.unknownField: field not declared in schema/,
    );
    const ignored = await api.expectSuccess(
      "POST",
      `${widgets}?fieldValidation=Ignore`,
      widget("a", rest),
    );
    assert.deepEqual(ignored["spec"], { foo: "bar" });
  });

  it("FieldValidation should detect unknown metadata fields in both the root and embedded object of a CR", async () => {
    const embedded = {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
    };
    await install({
      type: "object",
      properties: { spec: { type: "object", properties: { template: embedded } } },
    });
    const template = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "inner", unknownSubMeta: "bar" },
    };
    const reply = await api.send("POST", widgets + strictly, {
      ...widget("a", { spec: { template } }),
      metadata: { name: "a", unknownMeta: "foo" },
    });
    assert.equal(reply.status, 400);
    assert.match(reply.object.message ?? "", /unknown field "metadata\.unknownMeta"/);
    assert.match(
      reply.object.message ?? "",
      /unknown field "spec\.template\.metadata\.unknownSubMeta"/,
    );
  });

  it("FieldValidation should detect duplicates in a CR when preserving unknown fields", async () => {
    await install(preserving);
    const text = JSON.stringify(widget("a", { spec: { foo: "one" } })).replace(
      '"foo":"one"',
      '"unknown":"uk1","foo":"foo1","foo":"foo2"',
    );
    const reply = await api.send("POST", widgets + strictly, text);
    assert.equal(reply.status, 400);
    assert.match(reply.object.message ?? "", /duplicate field "spec\.foo"/);
  });
});
