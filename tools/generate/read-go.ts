/**
 * Reads struct types of Go source: what neither protobuf nor OpenAPI says of a field. The tags say
 * its name in JSON and whether a zero is omitted; the type says whether a value can be absent.
 */

export interface GoField {
  /** The name in JSON; empty for members of an embedded struct, absent for a field without one. */
  readonly jsonName: string | undefined;
  readonly protoName: string;
  /** A zero, and an empty list or map, are left out of JSON. */
  readonly omitsEmpty: boolean;
  readonly isPointer: boolean;
  /** `+optional` stands above the field. */
  readonly isOptional: boolean;
}

export interface GoStruct {
  /** Those that have a protobuf form. */
  readonly fields: readonly GoField[];
  /** It has kind and apiVersion, which protobuf has in the envelope of an object. */
  readonly hasTypeMeta: boolean;
}

export type GoStructs = ReadonlyMap<string, GoStruct>;

export function readGo(text: string): GoStructs {
  const structs = new Map<string, GoStruct>();
  for (const [, name = "", body = ""] of text.matchAll(
    /^type (\w+) struct ?\{(?:\}|\n(.*?)^\})$/gms,
  )) {
    structs.set(name, {
      fields: fieldsOf(body),
      hasTypeMeta: /^\s+(?:\w+\.)?TypeMeta\s+`/m.test(body),
    });
  }
  return structs;
}

function fieldsOf(body: string): GoField[] {
  const fields: GoField[] = [];
  let comment = "";
  for (const line of body.split("\n")) {
    if (/^\s*\/\//.test(line)) {
      comment += `${line}\n`;
      continue;
    }
    const [, name, type = "", tags = ""] = /^\s+(?:(\w+)\s+)?(\S+)\s+`([^`]*)`/.exec(line) ?? [];
    const proto = /protobuf:"([^"]*)"/.exec(tags)?.[1];
    if (proto !== undefined) {
      const [jsonName, ...options] = /json:"([^"]*)"/.exec(tags)?.[1]?.split(",") ?? [];
      fields.push({
        jsonName: jsonName === "-" ? undefined : jsonName,
        protoName: /\bname=(\w+)/.exec(proto)?.[1] ?? lowerFirst(name ?? type),
        omitsEmpty: options.includes("omitempty"),
        isPointer: type.startsWith("*"),
        isOptional: /^\s*\/\/ \+optional$/m.test(comment),
      });
    }
    comment = "";
  }
  return fields;
}

function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}
