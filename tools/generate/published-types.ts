/** What the published files say together: messages with their fields, and the resources. */
import type { GoField, GoStruct, GoStructs } from "./read-go.ts";
import type {
  DefinitionInfo,
  Definitions,
  GroupVersionKind,
  PropertyInfo,
  ResourceInfo,
} from "./read-openapi.ts";
import type { ProtoField, ProtoMessages } from "./read-proto.ts";

export type TypeInfo =
  | { readonly kind: "scalar"; readonly scalar: string; readonly isZeroless: boolean }
  | { readonly kind: "message"; readonly name: string; readonly isGranular: boolean }
  | { readonly kind: "union"; readonly name: string; readonly members: readonly UnionMember[] }
  | { readonly kind: "map"; readonly values: TypeInfo; readonly isAtomic: boolean }
  | { readonly kind: "list"; readonly items: TypeInfo; readonly list: ListInfo };

export interface ListInfo {
  readonly type: "atomic" | "set" | "map";
  readonly keys: readonly string[];
  /** The merge key of a strategic merge patch, empty for a list of scalars; absent: it replaces. */
  readonly mergeKey: string | undefined;
}

export interface UnionMember {
  readonly role: "one" | "many" | "words" | "flag";
  readonly number: number;
}

export interface FieldInfo {
  /** Empty for an embedded struct, whose members JSON has in the outer object. */
  readonly name: string;
  readonly number: number;
  readonly type: TypeInfo;
  readonly isRequired: boolean;
  readonly keepsEmpty: boolean;
  /** A Go struct that is no pointer: every object has one. */
  readonly isValue: boolean;
}

export interface MessageInfo {
  /** The full name in protobuf. */
  readonly name: string;
  readonly isAtomic: boolean;
  readonly fields: readonly FieldInfo[];
}

export interface PublishedFiles {
  readonly messages: ProtoMessages;
  /** Package of protobuf → its structs. */
  readonly structs: ReadonlyMap<string, GoStructs>;
  readonly definitions: Definitions;
  readonly resources: readonly ResourceInfo[];
}

const machinery = "k8s.io.apimachinery.pkg";

export const metaPackage = `${machinery}.apis.meta.v1`;

/** Numbers that no message uses: protobuf has these two in the envelope of an object. */
const typeMetaFields: readonly FieldInfo[] = [
  ["apiVersion", 101] as const,
  ["kind", 102] as const,
].map(([name, number]) => ({
  name,
  number,
  type: { kind: "scalar", scalar: "string", isZeroless: true },
  isRequired: false,
  keepsEmpty: false,
  isValue: false,
}));

/** An empty list has a meaning: it clears all managers. */
const keptWhenEmpty = new Set([`${metaPackage}.ObjectMeta.managedFields`]);

/** Messages whose JSON is a single value. */
const scalarMessages: ReadonlyMap<string, string> = new Map([
  [`${metaPackage}.Time`, "time"],
  [`${metaPackage}.MicroTime`, "microTime"],
  [`${metaPackage}.FieldsV1`, "fields"],
  [`${machinery}.api.resource.Quantity`, "quantity"],
  [`${machinery}.util.intstr.IntOrString`, "intOrString"],
  [`${machinery}.runtime.RawExtension`, "raw"],
  ["k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSON", "json"],
]);

/** `io.k8s.api.core.v1.Pod` of `k8s.io.api.core.v1.Pod`. */
export function definitionName(protoName: string): string {
  return protoName.replace(/^k8s\.io\./, "io.k8s.").replaceAll("_", "-");
}

export function packageOf(protoName: string): string {
  return protoName.slice(0, protoName.lastIndexOf("."));
}

export function shortName(protoName: string): string {
  return protoName.slice(protoName.lastIndexOf(".") + 1);
}

export class PublishedTypes {
  readonly #files: PublishedFiles;
  readonly #known = new Map<string, MessageInfo>();
  /** Messages that occur in others than lists of themselves. */
  readonly #referred = new Set<string>();
  /** Kind → the name of its message. */
  readonly #kinds = new Map<string, string>();
  /** Message → the message in whose JSON its members are. */
  readonly #outer = new Map<string, string>();

  constructor(files: PublishedFiles) {
    this.#files = files;
    for (const [message, fields] of files.messages) {
      const go = this.#struct(message)?.fields ?? [];
      const embedded = new Set(
        go.filter(({ jsonName }) => jsonName === "").map((field) => field.protoName),
      );
      for (const { name, type } of fields) {
        if (name !== "items") this.#referred.add(type);
        if (embedded.has(name)) this.#outer.set(type, message);
      }
      const definition = files.definitions[definitionName(message)];
      for (const kind of definition?.["x-kubernetes-group-version-kind"] ?? []) {
        this.#kinds.set(kindText(kind), message);
      }
    }
  }

  messageOfKind(kind: GroupVersionKind): string | undefined {
    return this.#kinds.get(kindText(kind));
  }

  get resources(): readonly ResourceInfo[] {
    return this.#files.resources;
  }

  /** The message and every message that it refers to, itself first. */
  reach(name: string): readonly MessageInfo[] {
    const reached = new Map<string, MessageInfo>();
    const open = [name];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (reached.has(next)) continue;
      const message = this.message(next);
      reached.set(next, message);
      for (const { type } of message.fields) open.push(...messagesIn(type));
    }
    return [...reached.values()];
  }

  message(name: string): MessageInfo {
    let types = this.#known.get(name);
    if (types === undefined) {
      types = this.#read(name);
      this.#known.set(name, types);
    }
    return types;
  }

  #read(name: string): MessageInfo {
    const fields = this.#files.messages.get(name);
    if (fields === undefined) throw new Error(`no protobuf file has the message ${name}`);
    const definition = this.#definition(name);
    const typeMeta = this.#isNestedObject(name) ? typeMetaFields : [];
    return {
      name,
      isAtomic: definition?.["x-kubernetes-map-type"] === "atomic",
      fields: [
        ...typeMeta,
        ...fields.flatMap((field) => {
          const go = this.#goField(name, field);
          if (go.jsonName === undefined) return [];
          const property = definition?.properties?.[go.jsonName] ?? {};
          const type = this.#type(field, go, property);
          const isListOrMap = type.kind === "list" || type.kind === "map";
          return {
            name: go.jsonName,
            number: field.number,
            type,
            isRequired:
              definition === undefined
                ? !go.omitsEmpty && !go.isOptional
                : (definition.required?.includes(go.jsonName) ?? false),
            keepsEmpty:
              isListOrMap && (!go.omitsEmpty || keptWhenEmpty.has(`${name}.${field.name}`)),
            isValue: type.kind === "message" && !go.isPointer && go.jsonName !== "",
          };
        }),
      ],
    };
  }

  /** A struct that is only embedded has no definition: the outer one has its members. */
  #definition(name: string): DefinitionInfo | undefined {
    const own = this.#files.definitions[definitionName(name)];
    const outer = this.#outer.get(name);
    return own ?? (outer === undefined ? undefined : this.#definition(outer));
  }

  /** An object that occurs in others, or in no group of its own. */
  #isNestedObject(name: string): boolean {
    const hasTypeMeta = this.#struct(name)?.hasTypeMeta === true;
    return hasTypeMeta && (this.#referred.has(name) || packageOf(name) === metaPackage);
  }

  #struct(name: string): GoStruct | undefined {
    return this.#files.structs.get(packageOf(name))?.get(shortName(name));
  }

  #goField(message: string, { name }: ProtoField): GoField {
    const found = this.#struct(message)?.fields.find(({ protoName }) => protoName === name);
    if (found === undefined) throw new Error(`no Go struct has the field ${message}.${name}`);
    return found;
  }

  #type(field: ProtoField, go: GoField, property: PropertyInfo): TypeInfo {
    const isZeroless = field.label === "one" && go.omitsEmpty && !go.isPointer;
    const mapType = property["x-kubernetes-map-type"];
    const one = this.#single(field.type, isZeroless, mapType === "granular");
    switch (field.label) {
      case "one":
        return one;
      case "map":
        return { kind: "map", values: one, isAtomic: mapType === "atomic" };
      case "list":
        return { kind: "list", items: one, list: listFacts(property) };
    }
  }

  #single(type: string, isZeroless: boolean, isGranular: boolean): TypeInfo {
    const scalar = scalarMessages.get(type);
    if (scalar !== undefined) return { kind: "scalar", scalar, isZeroless: false };
    if (!type.includes(".")) {
      return { kind: "scalar", scalar: type, isZeroless: isZeroless && type !== "bytes" };
    }
    const struct = this.#struct(type);
    // A named Go type that is a list: protobuf has a message around it.
    if (struct === undefined) return this.#namedList(type);
    if (struct.fields.length > 0 && struct.fields.every(({ jsonName }) => jsonName === undefined)) {
      return this.#union(type);
    }
    return { kind: "message", name: type, isGranular };
  }

  #namedList(type: string): TypeInfo {
    const [items, ...more] = this.#files.messages.get(type) ?? [];
    if (items?.label !== "list" || more.length > 0) {
      throw new Error(`no Go struct is found for the message ${type}`);
    }
    return { kind: "list", items: this.#single(items.type, false, false), list: listFacts({}) };
  }

  /** Protobuf has a member for each form of the value, JSON has the value. */
  #union(type: string): TypeInfo {
    let name = "";
    const members = (this.#files.messages.get(type) ?? []).map((field): UnionMember => {
      if (field.type === "bool") return { role: "flag", number: field.number };
      if (field.type === "string") return { role: "words", number: field.number };
      name = field.type;
      return { role: field.label === "list" ? "many" : "one", number: field.number };
    });
    return { kind: "union", name, members };
  }
}

function kindText({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`;
}

function listFacts(property: PropertyInfo): ListInfo {
  const strategies = property["x-kubernetes-patch-strategy"]?.split(",") ?? [];
  return {
    type: property["x-kubernetes-list-type"] ?? "atomic",
    keys: property["x-kubernetes-list-map-keys"] ?? [],
    mergeKey: strategies.includes("merge")
      ? (property["x-kubernetes-patch-merge-key"] ?? "")
      : undefined,
  };
}

function messagesIn(type: TypeInfo): readonly string[] {
  switch (type.kind) {
    case "message":
    case "union":
      return [type.name];
    case "map":
      return messagesIn(type.values);
    case "list":
      return messagesIn(type.items);
    case "scalar":
      return [];
  }
}
