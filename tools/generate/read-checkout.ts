/** Reads the published files of a Kubernetes checkout. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PublishedTypes } from "./published-types.ts";
import { type GoStructs, readGo } from "./read-go.ts";
import { readDefinitions, readResources } from "./read-openapi.ts";
import { type ProtoField, readProto } from "./read-proto.ts";

const sources = [
  "api",
  "apiextensions-apiserver/pkg/apis/apiextensions",
  "apimachinery/pkg",
  "kube-aggregator/pkg/apis/apiregistration",
  "metrics/pkg/apis/metrics",
];

/** Resources of generally available versions; betas and alphas are not served by default. */
const discoveryName = /^apis?__(?:[\w.-]+__)?v\d+\.json$/;

export function readCheckout(checkout: string): PublishedTypes {
  const messages = new Map<string, readonly ProtoField[]>();
  const structs = new Map<string, GoStructs>();
  for (const source of sources) {
    const root = join(checkout, "staging/src/k8s.io", source);
    for (const name of readdirSync(root, { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith("generated.proto")) continue;
      const text = readFileSync(join(root, name), "utf8");
      for (const [message, fields] of readProto(text)) messages.set(message, fields);
      const scope = /^package ([\w.]+);$/m.exec(text)?.[1] ?? "";
      structs.set(scope, structsIn(join(root, dirname(name))));
    }
  }
  const discovery = join(checkout, "api/discovery");
  return new PublishedTypes({
    messages,
    structs,
    definitions: readDefinitions(
      readFileSync(join(checkout, "api/openapi-spec/swagger.json"), "utf8"),
    ),
    resources: readdirSync(discovery)
      .filter((name) => discoveryName.test(name))
      .flatMap((name) => readResources(readFileSync(join(discovery, name), "utf8"))),
  });
}

function structsIn(folder: string): GoStructs {
  const files = readdirSync(folder).filter(
    (name) => name.endsWith(".go") && !/_test\.go$|\.pb\.go$|^zz_generated/.test(name),
  );
  return new Map(files.flatMap((name) => [...readGo(readFileSync(join(folder, name), "utf8"))]));
}
