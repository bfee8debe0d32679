/** Writes the types of objects and the resources of a client, a file for each group and version. */

import { fileName, groupName, header } from "./generated-file.ts";
import { capitalized, constantName, type NamedMessage, uniqueName } from "./named-messages.ts";
import {
  type FieldInfo,
  type MessageInfo,
  metaPackage,
  type PublishedTypes,
  packageOf,
  shortName,
  type TypeInfo,
} from "./published-types.ts";
import type { ResourceInfo } from "./read-openapi.ts";

interface Kind extends NamedMessage {
  readonly resource: ResourceInfo;
}

const scalarTypes: Readonly<Record<string, string>> = {
  bool: "boolean",
  int32: "number",
  int64: "number",
  double: "number",
  quantity: "string | number",
  intOrString: "string | number",
  fields: "JsonObject",
  raw: "JsonObject",
  json: "JsonValue",
};

/** Members that the SDK declares. */
const ofEveryObject = new Set(["apiVersion", "kind", "metadata"]);

/** Path below \`generated/\` → text. */
export function kindFiles(types: PublishedTypes): ReadonlyMap<string, string> {
  const kinds = types.resources.map((resource): Kind => {
    const message = types.messageOfKind(resource);
    if (message === undefined) throw new Error(`no definition is of the kind ${resource.kind}`);
    return { message, resource };
  });
  const packages = new Map<string, Map<string, MessageInfo>>();
  for (const { message } of kinds) {
    for (const reached of types.reach(message)) {
      const scope = packageOf(reached.name);
      const messages = packages.get(scope) ?? new Map<string, MessageInfo>();
      packages.set(scope, messages.set(reached.name, reached));
    }
  }
  const scopes = [...packages.keys()].sort((a, b) => (fileName(a) < fileName(b) ? -1 : 1));
  return new Map([
    ["index.ts", indexFile(scopes, kinds)] as const,
    ...[...packages].map(
      ([scope, messages]) =>
        [
          `${fileName(scope)}.ts`,
          new KindFile(scope, kinds).text([...messages.values()].sort(byName)),
        ] as const,
    ),
  ]);
}

function byName(a: MessageInfo, b: MessageInfo): number {
  return a.name < b.name ? -1 : 1;
}

/** Constants and types of kinds; types of their parts are reached through them. */
function indexFile(scopes: readonly string[], kinds: readonly Kind[]): string {
  const exported = scopes.flatMap((scope) => {
    const names = kinds
      .filter(({ message }) => packageOf(message) === scope)
      .flatMap((kind) => {
        const { message, resource } = kind;
        const name = uniqueName(message, kinds);
        const own = shortName(message);
        return [
          renamed(`type ${own}`, `type ${name === constantName(own) ? own : capitalized(name)}`),
          renamed(pluralName(resource), uniquePlural(kind, kinds)),
        ];
      })
      .sort((a, b) => (bare(a) < bare(b) ? -1 : 1));
    if (names.length === 0) return [];
    const list = names.map((name) => `  ${name},\n`).join("");
    return `export {\n${list}} from "./${fileName(scope)}.ts";\n`;
  });
  return `${header}${exported.join("")}`;
}

function renamed(own: string, name: string): string {
  return own === name ? own : `${own} as ${name.replace(/^type /, "")}`;
}

function bare(name: string): string {
  return name.replace(/^type /, "").toLowerCase();
}

/** `configMaps` for configmaps of the kind ConfigMap, `networkPolicies` for networkpolicies. */
function pluralName({ kind, resource }: ResourceInfo): string {
  const constant = constantName(kind);
  let same = kind.length;
  while (!resource.startsWith(kind.slice(0, same).toLowerCase())) same--;
  return constant.slice(0, same) + resource.slice(same);
}

function uniquePlural({ message, resource }: Kind, all: readonly Kind[]): string {
  const plural = pluralName(resource);
  const name = uniqueName(message, all);
  return name === constantName(resource.kind)
    ? plural
    : `${name.slice(0, -resource.kind.length)}${capitalized(plural)}`;
}

class KindFile {
  readonly #scope: string;
  readonly #kinds: readonly Kind[];
  readonly #isKind: ReadonlySet<string>;
  readonly #imports = new Map<string, Set<string>>();

  constructor(scope: string, kinds: readonly Kind[]) {
    this.#scope = scope;
    this.#kinds = kinds.filter(({ message }) => packageOf(message) === scope);
    this.#isKind = new Set(kinds.map(({ message }) => message));
  }

  text(messages: readonly MessageInfo[]): string {
    const types = messages
      .filter(({ name }) => name !== `${metaPackage}.ObjectMeta`)
      .map((message) => this.#interface(message));
    const resources = this.#kinds.map(({ resource }) => this.#resource(resource));
    const imports = [...this.#imports]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([from, names]) => `import type { ${[...names].sort().join(", ")} } from "${from}";\n`);
    return [header, ...imports, ...types, ...resources].join("");
  }

  #interface(message: MessageInfo): string {
    const isKind = this.#isKind.has(message.name);
    const name = shortName(message.name);
    const embedded = message.fields.filter((field) => field.name === "");
    const bases = [
      ...(isKind ? [this.#import("../../client/index.ts", "KubernetesObject")] : []),
      ...embedded.map(({ type }) => this.#type(type)),
    ];
    const members = message.fields
      .filter((field) => field.name !== "" && !(isKind && ofEveryObject.has(field.name)))
      .map((field) => `  ${this.#member(field)}\n`);
    const base = bases.length === 0 ? "" : ` extends ${bases.join(", ")}`;
    const body = members.length === 0 ? "{}" : `{\n${members.join("")}}`;
    return members.length === 0 && bases.length < 2
      ? `\nexport type ${name} = ${bases[0] ?? "Readonly<Record<string, never>>"};\n`
      : `\nexport interface ${name}${base} ${body}\n`;
  }

  #member({ name, type, isRequired }: FieldInfo): string {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : `"${name}"`;
    return `readonly ${key}${isRequired ? "" : "?"}: ${this.#type(type)};`;
  }

  #type(type: TypeInfo): string {
    switch (type.kind) {
      case "scalar":
        return this.#scalar(scalarTypes[type.scalar] ?? "string");
      case "message":
        return this.#message(type.name);
      case "map":
        return `Readonly<Record<string, ${this.#type(type.values)}>>`;
      case "list":
        return listOf(this.#type(type.items));
      case "union": {
        const name = this.#message(type.name);
        const forms = {
          one: name,
          many: listOf(name),
          words: "readonly string[]",
          flag: "boolean",
        };
        return type.members.map(({ role }) => forms[role]).join(" | ");
      }
    }
  }

  #scalar(type: string): string {
    return type.startsWith("Json") ? this.#import("@kcp-ts/machinery/json", type) : type;
  }

  #message(name: string): string {
    // Objects inside others may lack a name, a kind and a version.
    if (name === `${metaPackage}.ObjectMeta`) {
      return `Partial<${this.#import("../../client/index.ts", "ObjectMeta")}>`;
    }
    const type = this.#typeName(name);
    if (!this.#isKind.has(name)) return type;
    return `${this.#import("../../client/index.ts", "ObjectInput")}<${type}>`;
  }

  #typeName(name: string): string {
    const scope = packageOf(name);
    const short = shortName(name);
    if (scope === this.#scope) return short;
    const from = `./${fileName(scope)}.ts`;
    if (scope === metaPackage) return this.#import(from, short);
    // Another group may have a type of the same name.
    const alias = `${capitalized(groupName(scope))}${short}`;
    this.#import(from, `${short} as ${alias}`);
    return alias;
  }

  #import(from: string, name: string): string {
    const names = this.#imports.get(from) ?? new Set<string>();
    this.#imports.set(from, names.add(name));
    return name;
  }

  #resource(resource: ResourceInfo): string {
    this.#import("../../client/index.ts", "Resource");
    const { group, version, kind, isNamespaced } = resource;
    return [
      `\nexport const ${pluralName(resource)}: Resource<${kind}> = { group: "${group}", `,
      `version: "${version}", resource: "${resource.resource}", kind: "${kind}", `,
      `namespaced: ${isNamespaced} };\n`,
    ].join("");
  }
}

function listOf(type: string): string {
  return `readonly ${type.includes(" ") ? `(${type})` : type}[]`;
}
