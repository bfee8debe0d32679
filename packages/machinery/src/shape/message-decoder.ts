/**
 * Decodes one protobuf message with its nested messages, field by field: open messages are on an
 * explicit stack, so that the decoder can yield anywhere.
 */
import { type Resumable, YieldCounter } from "../base/index.ts";
import { type JsonObject, type JsonValue, setMember } from "../json/index.ts";
import type { FieldCount } from "./field-count.ts";
import type { Field, MessageShape, Shape, WireUnion } from "./shape.ts";
import { WireReader } from "./wire-reader.ts";
import { decodeIntOrString, decodeTime, stringField, toBase64 } from "./wire-scalars.ts";

export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

/**
 * The maximum nesting of messages: a schema of the deepest permitted kind needs fewer than three
 * hundred.
 */
export const messageDepthMax = 512;

/** Fields between two yields. */
const fieldsPerPiece = 500;

/** A message that is being decoded. */
interface Frame {
  readonly end: number;
  /** Its nesting depth. */
  readonly depth: number;
  /** Reads a field whose tag was read. Resumable work where its value may be long. */
  read(reader: WireReader, decoder: MessageDecoder): Resumable<void> | undefined;
  /** The value of the field that was read last. */
  take(value: JsonValue): void;
  /** The message is complete: its parent gets its value. */
  close(parent: Frame): void;
}

export class MessageDecoder {
  readonly count: FieldCount;
  readonly reader: WireReader;
  readonly #stack: Frame[] = [];
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, count: FieldCount) {
    this.#bytes = bytes;
    this.reader = new WireReader(bytes);
    this.count = count;
  }

  *decode(shape: MessageShape): Resumable<JsonObject> {
    const { reader, count } = this;
    const stack = this.#stack;
    const pace = new YieldCounter(fieldsPerPiece);
    const whole = new Whole();
    stack.push(new OpenMessage(shape, this.#bytes.length, 0));
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      if (reader.at >= frame.end) {
        stack.pop();
        frame.close(stack.at(-1) ?? whole);
      } else {
        count.next(reader, frame.end);
        const work = frame.read(reader, this);
        if (work !== undefined) yield* work;
        if (pace.isTime()) yield;
      }
    }
    return whole.value as JsonObject;
  }

  /** The next fields belong to the frame. */
  open(frame: Frame): void {
    if (frame.depth > messageDepthMax) {
      throw new ProtobufError(`messages are nested deeper than ${messageDepthMax} levels`);
    }
    this.#stack.push(frame);
  }

  /** Reads the value of a field of the frame, which stores it now or when it is complete. */
  value(shape: Shape, frame: Frame): Resumable<void> | undefined {
    const { reader, count } = this;
    if (shape.kind === "message") {
      this.open(new OpenMessage(shape, reader.enter(), frame.depth + 1));
      return undefined;
    }
    if (shape.kind === "list") {
      this.open(new OpenList(shape.items, reader.enter(), frame.depth));
      return undefined;
    }
    if (shape.kind !== "scalar") throw new ProtobufError("maps of maps have no protobuf form");
    switch (shape.scalar) {
      case "string":
        frame.take(reader.string());
        return undefined;
      case "bool":
        frame.take(reader.integer() !== 0);
        return undefined;
      case "int32":
      case "int64":
        frame.take(reader.integer());
        return undefined;
      case "double":
        frame.take(reader.double());
        return undefined;
      case "bytes":
        return taking(frame, toBase64(reader.bytes()));
      case "time":
      case "microTime":
        frame.take(decodeTime(reader, count, shape.scalar));
        return undefined;
      case "quantity":
        frame.take(stringField(reader, count, 1));
        return undefined;
      case "intOrString":
        frame.take(decodeIntOrString(reader, count));
        return undefined;
      case "fields":
      case "raw":
      case "json":
        break;
    }
    if (shape.union !== undefined) {
      this.open(new OpenUnion(shape.union, reader.enter(), frame.depth));
      return undefined;
    }
    const text = stringField(reader, count, 1);
    if (text !== "") return taking(frame, count.json(text));
    frame.take({});
    return undefined;
  }
}

function* taking(frame: Frame, work: Resumable<JsonValue>): Resumable<void> {
  frame.take(yield* work);
}

/** The parent of the outermost message. */
class Whole implements Frame {
  readonly end = 0;
  readonly depth = 0;
  value: JsonValue = null;

  read(): undefined {
    return undefined;
  }

  take(value: JsonValue): void {
    this.value = value;
  }

  close(): void {}
}

class OpenMessage implements Frame {
  readonly end: number;
  readonly depth: number;
  readonly #shape: MessageShape;
  readonly #result: { [key: string]: JsonValue } = {};
  #field: Field | undefined;
  /** Of its maps, by name. */
  #entries: Map<string, number> | undefined;

  constructor(shape: MessageShape, end: number, depth: number) {
    this.#shape = shape;
    this.end = end;
    this.depth = depth;
  }

  read(reader: WireReader, decoder: MessageDecoder): Resumable<void> | undefined {
    const field = this.#shape.byNumber.get(reader.number);
    if (field === undefined) return undefined;
    this.#field = field;
    const { shape, name } = field;
    if (field.isInlined === true) return decoder.value(shape, this);
    if (shape.kind === "list") {
      this.#result[name] ??= [];
      return decoder.value(shape.items, this);
    }
    if (shape.kind === "map") {
      this.#result[name] ??= {};
      decoder.count.member(this.#countEntry(name));
      const entries = this.#result[name] as { [key: string]: JsonValue };
      decoder.open(new OpenEntry(entries, shape.values, reader.enter(), this.depth));
      return undefined;
    }
    return decoder.value(shape, this);
  }

  take(value: JsonValue): void {
    const { shape, name, isInlined } = this.#field as Field;
    if (isInlined === true) Object.assign(this.#result, value);
    else if (shape.kind === "list") (this.#result[name] as JsonValue[]).push(value);
    else if (!isAbsent(shape, value)) this.#result[name] = value;
  }

  close(parent: Frame): void {
    parent.take(this.#result);
  }

  #countEntry(name: string): number {
    this.#entries ??= new Map();
    const entries = (this.#entries.get(name) ?? 0) + 1;
    this.#entries.set(name, entries);
    return entries;
  }
}

/** An entry of a map: its name and its value. */
class OpenEntry implements Frame {
  readonly end: number;
  readonly depth: number;
  readonly #entries: { [key: string]: JsonValue };
  readonly #values: Shape;
  #key = "";
  #value: JsonValue;

  constructor(entries: { [key: string]: JsonValue }, values: Shape, end: number, depth: number) {
    this.#entries = entries;
    this.#values = values;
    this.#value = values.kind === "scalar" ? "" : {};
    this.end = end;
    this.depth = depth;
  }

  read(reader: WireReader, decoder: MessageDecoder): Resumable<void> | undefined {
    if (reader.number === 1) this.#key = reader.string();
    else if (reader.number === 2) return decoder.value(this.#values, this);
    return undefined;
  }

  take(value: JsonValue): void {
    this.#value = value;
  }

  close(): void {
    setMember(this.#entries, this.#key, this.#value);
  }
}

/**
 * Where protobuf cannot repeat, a list is a message of its own: `ExtraValue{repeated string items =
 * 1}`.
 */
class OpenList implements Frame {
  readonly end: number;
  readonly depth: number;
  readonly #items: Shape;
  readonly #values: JsonValue[] = [];

  constructor(items: Shape, end: number, depth: number) {
    this.#items = items;
    this.end = end;
    this.depth = depth;
  }

  read(reader: WireReader, decoder: MessageDecoder): Resumable<void> | undefined {
    return reader.number === 1 ? decoder.value(this.#items, this) : undefined;
  }

  take(value: JsonValue): void {
    this.#values.push(value);
  }

  close(parent: Frame): void {
    parent.take(this.#values);
  }
}

/** A schema or another value: JSON has the one that is set. */
class OpenUnion implements Frame {
  readonly end: number;
  readonly depth: number;
  readonly #union: WireUnion;
  readonly #list: JsonValue[] = [];
  #value: JsonValue | undefined;
  #isAllowed = false;
  #isOne = false;

  constructor(union: WireUnion, end: number, depth: number) {
    this.#union = union;
    this.end = end;
    this.depth = depth;
  }

  read(reader: WireReader, decoder: MessageDecoder): Resumable<void> | undefined {
    const { shape, one, many, words, flag } = this.#union;
    if (reader.number === one || reader.number === many) {
      this.#isOne = reader.number === one;
      return decoder.value(shape, this);
    }
    if (reader.number === words) this.#list.push(reader.string());
    else if (reader.number === flag) this.#isAllowed = reader.integer() !== 0;
    return undefined;
  }

  take(value: JsonValue): void {
    if (this.#isOne) this.#value = value;
    else this.#list.push(value);
  }

  close(parent: Frame): void {
    parent.take(this.#value ?? (this.#union.flag === undefined ? this.#list : this.#isAllowed));
  }
}

/**
 * Whether JSON of the same client would lack the field: Go writes the empty text of a string that
 * is no pointer into protobuf, and omits it from JSON where the field says so. The empty text of a
 * pointer is a value, such as the storage class "", and so is each value of embedded JSON but null.
 */
function isAbsent(shape: Shape, value: JsonValue): boolean {
  if (value === null) return true;
  if (value !== "" || shape.kind !== "scalar") return false;
  const { scalar, isZeroless } = shape;
  return isZeroless === true || scalar === "bytes" || scalar === "quantity";
}
