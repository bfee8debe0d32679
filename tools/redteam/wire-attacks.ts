/** Bodies as bytes: protobuf, YAML and JSON that are larger inside than outside. */
import { gzipSync } from "node:zlib";
import type { SeededRandom } from "@kcp-ts/testkit";
import { type Attack, anySize, protobuf, type Step, times } from "./attack.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return Buffer.from(bytes);
}

function envelope(raw: Buffer): Buffer {
  const type = Buffer.concat([field(1, Buffer.from("v1")), field(2, Buffer.from("ConfigMap"))]);
  return Buffer.concat([Buffer.from("k8s\0"), field(1, type), field(2, raw)]);
}

const sent = (body: Buffer, contentType: string, headers = {}): Step => ({
  method: "POST",
  path: configMaps,
  body,
  contentType,
  headers,
});

function repeated(random: SeededRandom): Buffer {
  const name = field(1, field(1, Buffer.from("p")));
  const [number, size] = [2 + random.integer(3), random.integer(3)];
  const one = field(number, Buffer.alloc(size));
  return Buffer.concat([name, Buffer.alloc(anySize(random, 2_900_000), one)]);
}

const protobufBodies: Attack = {
  name: "protobuf bodies",
  *steps({ random }) {
    yield sent(envelope(repeated(random)), protobuf);
    const owners = Buffer.alloc(anySize(random, 1_400_000), field(13, Buffer.alloc(0)));
    yield sent(envelope(field(1, owners)), protobuf);
    const labels = Buffer.concat(
      times(anySize(random, 100_000), (i) =>
        field(11, Buffer.concat([field(1, Buffer.from(`l${i}`)), field(2, Buffer.from("v"))])),
      ),
    );
    yield sent(envelope(field(1, Buffer.concat([field(1, Buffer.from("q")), labels]))), protobuf);
    let nested: Buffer = Buffer.alloc(0);
    for (let i = 0; i < anySize(random, 5000); i++) nested = field(1, nested);
    yield sent(envelope(nested), protobuf);
    yield sent(Buffer.from(times(5000, () => random.integer(256))), protobuf);
  },
};

const yamlBodies: Attack = {
  name: "YAML bodies",
  *steps({ random }) {
    const head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n";
    const count = anySize(random, 100_000);
    const bodies = [
      `${head}data:\n${times(count, (i) => `  k${i}: v\n`).join("")}`,
      `a: &a [${times(9, () => "x").join()}]\n${times(9, (i) => `b${i}: &b${i} [${times(9, () => (i === 0 ? "*a" : `*b${i - 1}`)).join()}]\n`).join("")}`,
      `${head}data: ${"[".repeat(Math.min(count, 20_000))}`,
      `${head}data: ${"{a: ".repeat(Math.min(count, 20_000))}`,
      `${head}? ${"? ".repeat(Math.min(count, 5000))}a`,
      `${head}data:\n  k: ${random.pick([".inf", ".nan", "1e400", "0x".padEnd(count, "f")])}\n`,
      `${head}data:\n  k: |\n${"    x\n".repeat(count)}`,
      `${head}data: ${times(count, () => "!!str x").join(" ")}`,
    ];
    for (const each of bodies) {
      if (random.chance(0.6)) yield sent(Buffer.from(each), "application/yaml");
    }
  },
};

const jsonBodies: Attack = {
  name: "JSON bodies",
  *steps({ random }) {
    const head = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"j"';
    const count = anySize(random, 200_000);
    const bodies = [
      `${head},"labels":{${times(count, (i) => `"l${i}":"v"`).join()}}}}`,
      `${head},"finalizers":[${times(count, (i) => `"a/b${i}"`).join()}]}}`,
      `${head},"managedFields":[${times(count >> 3, () => '{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}').join()}]}}`,
      `${head},"annotations":{"a":"${"\\u0061".repeat(count)}"}}}`,
      `${head}},"data":{${times(count, () => '"a":"b"').join()}}}`,
      `${head}},"unknown":${"[".repeat(count)}${"]".repeat(count)}}`,
      `${head}},${times(count, (i) => `"u${i}":1`).join()}}`,
    ];
    for (const each of bodies) {
      if (random.chance(0.6)) {
        yield {
          ...sent(Buffer.from(each), "application/json"),
          path: `${configMaps}?fieldValidation=${random.pick(["Strict", "Warn", "Ignore"])}`,
        };
      }
    }
    yield sent(gzipSync(Buffer.alloc(30_000_000, 32)), "application/json", {
      "content-encoding": "gzip",
    });
  },
};

export const wireAttacks: readonly Attack[] = [protobufBodies, yamlBodies, jsonBodies];
