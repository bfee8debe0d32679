/** The generator on published files in miniature. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { namedMessages, uniqueName } from "./named-messages.ts";
import { PublishedTypes } from "./published-types.ts";
import { readGo } from "./read-go.ts";
import { readDefinitions, readResources } from "./read-openapi.ts";
import { readProto } from "./read-proto.ts";
import { kindFiles } from "./write-kinds.ts";
import { shapeFiles } from "./write-shapes.ts";

const metaScope = "k8s.io.apimachinery.pkg.apis.meta.v1";
const schemaScope = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1";
const metaNames = [
  ...["Condition", "DeleteOptions", "LabelSelector", "ListMeta"],
  ...["ObjectMeta", "OwnerReference", "Status"],
];

const proto = `
package k8s.io.api.example.v1;

// Widget is described here.
message Widget {
  // metadata is described here.
  optional .${metaScope}.ObjectMeta metadata = 1;

  optional WidgetSpec spec = 2;
}

message WidgetSpec {
  optional Common common = 1;

  repeated Port ports = 2;

  map<string, string> labels = 3;

  optional int32 count = 4;

  optional int32 size = 5;

  repeated string names = 6;
}

message Common {
  repeated Port others = 1;
}

message Port {
  optional int32 port = 1;
}
`;

const go = `
type Widget struct {
	metav1.TypeMeta \`json:",inline"\`
	// +optional
	metav1.ObjectMeta \`json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"\`
	Spec WidgetSpec \`json:"spec" protobuf:"bytes,2,opt,name=spec"\`
}

type WidgetSpec struct {
	Common \`json:",inline" protobuf:"bytes,1,opt,name=common"\`
	Ports []Port \`json:"ports,omitempty" protobuf:"bytes,2,rep,name=ports"\`
	Labels map[string]string \`json:"labels" protobuf:"bytes,3,rep,name=labels"\`
	Count int32 \`json:"count,omitempty" protobuf:"varint,4,opt,name=count"\`
	Size *int32 \`json:"size,omitempty" protobuf:"varint,5,opt,name=size"\`
	Names []string \`json:"names,omitempty" protobuf:"bytes,6,rep,name=names"\`
}

type Common struct {
	Others []Port \`json:"others,omitempty" protobuf:"bytes,1,rep,name=others"\`
}

type Port struct {
	Port int32 \`json:"port" protobuf:"varint,1,opt,name=port"\`
}
`;

const keyed = {
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["port"],
  "x-kubernetes-patch-strategy": "merge",
  "x-kubernetes-patch-merge-key": "port",
};

const definitions = JSON.stringify({
  definitions: {
    "io.k8s.api.example.v1.Widget": {
      required: ["spec"],
      "x-kubernetes-group-version-kind": [
        { group: "example.k8s.io", version: "v1", kind: "Widget" },
      ],
    },
    "io.k8s.api.example.v1.WidgetSpec": {
      properties: {
        ports: { ...keyed, "x-kubernetes-patch-merge-key": "name" },
        others: keyed,
        labels: { "x-kubernetes-map-type": "atomic" },
        names: { "x-kubernetes-list-type": "set" },
      },
    },
    "io.k8s.api.example.v1.Port": { required: ["port"], "x-kubernetes-map-type": "atomic" },
  },
});

const discovery = JSON.stringify({
  groupVersion: "example.k8s.io/v1",
  resources: [
    {
      name: "widgets",
      singularName: "widget",
      namespaced: true,
      kind: "Widget",
      verbs: ["get"],
      shortNames: ["wg"],
    },
    { name: "widgets/status", singularName: "", namespaced: true, kind: "Widget", verbs: ["get"] },
  ],
});

const metaProto = metaNames.map((name) => `message ${name} {\n}\n`).join("\n");
const metaGo = metaNames.map((name) => `type ${name} struct {}\n`).join("\n");

function types(): PublishedTypes {
  return new PublishedTypes({
    messages: new Map([
      ...readProto(proto),
      ...readProto(`package ${metaScope};\n${metaProto}`),
      ...readProto(`package ${schemaScope};\nmessage JSONSchemaProps {\n}\n`),
    ]),
    structs: new Map([
      ["k8s.io.api.example.v1", readGo(go)],
      [metaScope, readGo(metaGo)],
      [schemaScope, readGo("type JSONSchemaProps struct {}\n")],
    ]),
    definitions: readDefinitions(definitions),
    resources: readResources(discovery),
  });
}

describe("the generator of shapes", () => {
  const files = shapeFiles(types(), namedMessages(types()));

  it("a line of a table says what protobuf, Go and OpenAPI say of a message", () => {
    const lines = files.get("example-v1.ts")?.split("\n") ?? [];
    assert.deepEqual(
      lines.filter((line) => /^(?:Common|Port|Widget)/.test(line)),
      [
        "Common others:1:[Port](port)",
        "Port! port*:1:int32",
        "Widget metadata=:1:meta.ObjectMeta spec*=:2:WidgetSpec",
        "WidgetSpec :1:Common ports:2:[Port](port)@name labels+:3:{string}! count:4:int32? size:5:int32 names:6:[string]set!",
      ],
    );
  });

  it("a kind has a constant and is found by its group, version and kind", () => {
    assert.match(
      files.get("example-v1.ts") ?? "",
      /export const widget: MessageShape = .*message\("Widget"\);/,
    );
    assert.match(
      files.get("index.ts") ?? "",
      /\["example\.k8s\.io\/v1\/Widget", exampleV1\.widget\]/,
    );
  });

  it("a line of protobuf that is not understood is an error", () => {
    assert.throws(
      () => readProto("package a;\nmessage A {\n  oneof b {\n}\n"),
      /message A has a line that is not understood/,
    );
  });

  it("names of kinds begin with a lower-case word, and with the group where it is not core", () => {
    const core = "k8s.io.api.core.v1";
    const all = ["core.v1.Event", "events.v1.Event", "storage.v1.CSIDriver"].map((name) => ({
      message: `k8s.io.api.${name}`,
    }));
    assert.equal(uniqueName(`${core}.Event`, all), "event");
    assert.equal(uniqueName("k8s.io.api.events.v1.Event", all), "eventsV1Event");
    assert.equal(uniqueName("k8s.io.api.storage.v1.CSIDriver", all), "csiDriver");
  });
});

describe("the generator of kinds", () => {
  const files = kindFiles(types());

  it("a kind has a type and a resource", () => {
    assert.equal(
      files.get("example-v1.ts"),
      `/**
 * Generated by \`npm run generate\` from the published types of Kubernetes. Changes are lost.
 */
import type { KubernetesObject, Resource } from "../../client/index.ts";

export interface Common {
  readonly others?: readonly Port[];
}

export interface Port {
  readonly port: number;
}

export interface Widget extends KubernetesObject {
  readonly spec: WidgetSpec;
}

export interface WidgetSpec extends Common {
  readonly ports?: readonly Port[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly count?: number;
  readonly size?: number;
  readonly names?: readonly string[];
}

export const widgets: Resource<Widget> = { group: "example.k8s.io", version: "v1", resource: "widgets", kind: "Widget", namespaced: true };
`,
    );
  });

  it("the index has the kinds, and not their parts", () => {
    assert.match(
      files.get("index.ts") ?? "",
      /^export \{\n {2}type Widget,\n {2}widgets,\n\} from "\.\/example-v1\.ts";$/m,
    );
  });
});
