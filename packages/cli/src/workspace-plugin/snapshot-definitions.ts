/** `kubectl kcp crd snapshot`: CustomResourceDefinitions as APIResourceSchemas. Needs no server. */
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";

export interface SnapshotOptions {
  readonly filename?: string;
  readonly prefix?: string;
  readonly output?: string;
}

interface Definition {
  readonly kind?: string;
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly scope: string;
    readonly versions: readonly { readonly schema?: { readonly openAPIV3Schema?: object } }[];
    readonly conversion?: { readonly strategy?: string };
  };
}

const approval = "api-approved.kubernetes.io";

export async function printSnapshot({ filename, prefix, output }: SnapshotOptions): Promise<void> {
  if (filename === undefined) throw new Error("--filename is required");
  if (prefix === undefined) throw new Error("--prefix is required");
  const { parseManifests, toYaml } = await import("@kcp-ts/controlplane");
  const source = filename === "-" ? await text(process.stdin) : await readFile(filename, "utf8");
  for (const manifest of parseManifests(source, filename)) {
    const schema = snapshotOf(manifest as unknown as Definition, prefix);
    const shown =
      output === "json" ? `${JSON.stringify(schema, undefined, 4)}\n` : toYaml(schema as never);
    process.stdout.write(`${shown}---\n`);
  }
}

export function snapshotOf(definition: Definition, prefix: string): object {
  const { kind, spec } = definition;
  if (kind !== "CustomResourceDefinition" || spec === undefined)
    throw new Error(
      `expected a CustomResourceDefinition, got ${kind ?? "something without a kind"}`,
    );
  const { group, names, scope, versions, conversion } = spec;
  const approved = definition.metadata?.annotations?.[approval];
  const hasConversion = versions.length > 1 || conversion?.strategy === "Webhook";
  return {
    apiVersion: "apis.kcp.io/v1alpha1",
    kind: "APIResourceSchema",
    metadata: {
      name: `${prefix}.${names.plural}.${group === "" ? "core" : group}`,
      ...(approved === undefined ? {} : { annotations: { [approval]: approved } }),
    },
    spec: {
      group,
      names,
      scope,
      versions: versions.map(({ schema, ...version }) => ({
        ...version,
        schema: schema?.openAPIV3Schema ?? {},
      })),
      ...(hasConversion ? { conversion: conversion ?? { strategy: "None" } } : {}),
    },
  };
}
