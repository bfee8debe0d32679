/** Reads messages of a generated.proto: names, numbers and types of their fields. */

export interface ProtoField {
  readonly name: string;
  readonly number: number;
  /** A scalar of protobuf, or the full name of a message. */
  readonly type: string;
  readonly label: "one" | "list" | "map";
}

/** Full name of a message → its fields, in the order of the file. */
export type ProtoMessages = ReadonlyMap<string, readonly ProtoField[]>;

const scalars = new Set(["string", "bool", "int32", "int64", "double", "bytes"]);

export function readProto(text: string): ProtoMessages {
  const scope = /^package ([\w.]+);$/m.exec(text)?.[1];
  if (scope === undefined) throw new Error("the file declares no protobuf package");
  const fullName = (type: string) => {
    if (scalars.has(type)) return type;
    return type.startsWith(".") ? type.slice(1) : `${scope}.${type}`;
  };
  const messages = new Map<string, ProtoField[]>();
  for (const [, name = "", body = ""] of text.matchAll(/^message (\w+) \{\n(.*?)^\}$/gms)) {
    const fields: ProtoField[] = [];
    for (const line of body.split("\n")) {
      const single = /^ {2}(optional|repeated) ([\w.]+) (\w+) = (\d+);$/.exec(line);
      const map = /^ {2}map<string, ([\w.]+)> (\w+) = (\d+);$/.exec(line);
      if (single !== null) {
        const [, label, type = "", field = "", number] = single;
        fields.push({
          name: field,
          number: Number(number),
          type: fullName(type),
          label: label === "repeated" ? "list" : "one",
        });
      } else if (map !== null) {
        const [, type = "", field = "", number] = map;
        fields.push({ name: field, number: Number(number), type: fullName(type), label: "map" });
      } else if (line.trim() !== "" && !line.trim().startsWith("//")) {
        throw new Error(`message ${name} has a line that is not understood: ${line}`);
      }
    }
    messages.set(`${scope}.${name}`, fields);
  }
  return messages;
}
