/**
 * Shapes as text: one line for each message of an API group and version. A line is read when its
 * message is first used, so that the kinds that a process does not use cost it their text only.
 *
 *     Role metadata=:1:meta.ObjectMeta rules+:2:[PolicyRule]
 *     Subject! kind*:1:string apiGroup:2:string? name*:3:string namespace:4:string?
 *
 * - `Name!` is atomic for apply.
 * - A field is its name, its protobuf number and its type. `*` is required, `+` is written even
 *   when it is empty, `=` is a struct that every object has. A field without a name is a message
 *   whose members JSON has in the outer object.
 * - Types are scalars (`?`: zero means absent), messages (`group.Name` of another table, `~`: not
 *   atomic here although the message is), `{maps}` (`!`: atomic), `[lists]` (`set`, or keys in
 *   parentheses; `!`: a patch replaces the list, `@key`: it merges by that key) and `<unions>`.
 */
import { descriptionOf } from "./descriptions.ts";
import {
  bool,
  bytes,
  double,
  type Field,
  fields,
  int32,
  int64,
  intOrString,
  json,
  jsonUnion,
  type ListTraits,
  type MessageShape,
  microTime,
  quantity,
  raw,
  type ScalarShape,
  type Shape,
  string,
  time,
  type WireUnion,
  zeroless,
} from "./shape.ts";

const scalars: ReadonlyMap<string, ScalarShape> = new Map(
  [
    ...[string, bool, int32, int64, double, bytes, time, microTime],
    ...[quantity, intOrString, fields, raw, json],
  ].flatMap((shape) => [
    [shape.scalar, shape],
    [`${shape.scalar}?`, zeroless(shape)],
  ]),
);

export class ShapeTable {
  /** The OpenAPI name of the group and version, such as `io.k8s.api.core.v1`. */
  readonly scope: string;
  readonly #others: Readonly<Record<string, ShapeTable>>;
  readonly #text: string;
  readonly #messages = new Map<string, MessageShape>();

  /** `others` are the tables that this one refers to, by the names that it uses for them. */
  constructor(scope: string, others: Readonly<Record<string, ShapeTable>>, text: string) {
    this.scope = scope;
    this.#others = others;
    this.#text = text;
  }

  message(name: string): MessageShape {
    let message = this.#messages.get(name);
    if (message === undefined) {
      message = new TableMessage(this, name);
      this.#messages.set(name, message);
    }
    return message;
  }

  /** The words of the line of a message. */
  line(name: string): readonly string[] {
    for (const mark of ["", "!"]) {
      const start = `\n${name}${mark}`;
      for (const end of [" ", "\n"]) {
        const at = this.#text.indexOf(start + end);
        if (at >= 0) return this.#text.slice(at + 1, this.#text.indexOf("\n", at + 1)).split(" ");
      }
    }
    throw new Error(`${this.scope} has no message ${name}`);
  }

  type(text: string): Shape {
    const scalar = scalars.get(text);
    if (scalar !== undefined) return scalar;
    switch (text[0]) {
      case "[": {
        const end = text.lastIndexOf("]");
        return {
          kind: "list",
          items: this.type(text.slice(1, end)),
          list: listTraits(text.slice(end + 1)),
        };
      }
      case "{": {
        const end = text.lastIndexOf("}");
        const values = this.type(text.slice(1, end));
        return { kind: "map", values, ...(text.endsWith("!") ? { isAtomic: true } : {}) };
      }
      case "<":
        return this.#union(text.slice(1, -1).split(","));
      default: {
        const [group = "", name] = text.split(".");
        if (name === undefined) return this.message(text);
        const other = this.#others[group];
        if (other === undefined) throw new Error(`${this.scope} does not know the table ${group}`);
        return other.message(name);
      }
    }
  }

  #union([name = "", ...members]: readonly string[]): ScalarShape {
    const numbers: Record<string, number> = {};
    for (const member of members) numbers[member.slice(0, -1)] = Number(member.slice(-1));
    return jsonUnion({ ...numbers, shape: this.message(name) } as WireUnion);
  }
}

function listTraits(text: string): ListTraits {
  const [, form = "", exception] = /^(set|\([^)]*\))?(!|@\w+)?$/.exec(text) ?? [];
  return {
    ...(form === "" ? { type: "atomic" } : undefined),
    ...(form === "set" ? { type: "set" } : undefined),
    ...(form.startsWith("(") ? { type: "map", keys: form.slice(1, -1).split(",") } : undefined),
    ...(exception === "!" ? { isReplacedByPatch: true } : undefined),
    ...(exception?.startsWith("@") ? { mergeKey: exception.slice(1) } : undefined),
  } as ListTraits;
}

type Parts = Pick<MessageShape, "fields" | "byNumber" | "required" | "keepsEmpty" | "isAtomic">;

/** A message of a table, whose line is read when something of it is asked for. */
class TableMessage implements MessageShape {
  readonly kind = "message";
  readonly name: string;
  readonly #table: ShapeTable;
  readonly #shortName: string;
  #parts: Parts | undefined;

  constructor(table: ShapeTable, shortName: string) {
    this.name = `${table.scope}.${shortName}`;
    this.#table = table;
    this.#shortName = shortName;
  }

  get description(): string {
    return descriptionOf(this.#table.scope, this.#shortName);
  }

  get fields(): Parts["fields"] {
    return this.#read().fields;
  }

  get byNumber(): Parts["byNumber"] {
    return this.#read().byNumber;
  }

  get required(): Parts["required"] {
    return this.#read().required;
  }

  get keepsEmpty(): Parts["keepsEmpty"] {
    return this.#read().keepsEmpty;
  }

  get isAtomic(): boolean {
    return this.#read().isAtomic;
  }

  #read(): Parts {
    this.#parts ??= this.#readLine();
    return this.#parts;
  }

  #readLine(): Parts {
    const [title = "", ...texts] = this.#table.line(this.#shortName);
    const members = new Map<string, Field>();
    const byNumber = new Map<number, Field>();
    const required: string[] = [];
    const keepsEmpty = new Set<string>();
    for (const text of texts) {
      const { field, marks } = this.#field(text);
      byNumber.set(field.number, field);
      if (field.isInlined === true && field.shape.kind === "message") {
        for (const [name, inner] of field.shape.fields) members.set(name, inner);
        required.push(...field.shape.required);
        for (const name of field.shape.keepsEmpty) keepsEmpty.add(name);
      } else {
        members.set(field.name, field);
        if (marks.includes("*")) required.push(field.name);
        if (marks.includes("+")) keepsEmpty.add(field.name);
      }
    }
    return { fields: members, byNumber, required, keepsEmpty, isAtomic: title.endsWith("!") };
  }

  #field(text: string): { field: Field; marks: string } {
    const [marked = "", number, type = ""] = text.split(":");
    const [, name = "", marks = ""] = /^(.*?)([*+=]*)$/.exec(marked) ?? [];
    const isGranular = type.endsWith("~");
    const field: Field = {
      name,
      number: Number(number),
      shape: this.#table.type(isGranular ? type.slice(0, -1) : type),
      description: descriptionOf(this.#table.scope, this.#shortName, name),
      isValue: marks.includes("="),
      ...(name === "" ? { isInlined: true } : undefined),
      ...(isGranular ? { isGranular } : undefined),
    };
    return { field, marks };
  }
}
