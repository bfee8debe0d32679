/** Patches: many operations, merges of long lists, fields of many managers. */
import { define, hostilesPath, object, text } from "../bench/hold-case.ts";
import { type Attack, anyJson, anySize, get, patch, post, type Step, times } from "./attack.ts";

const preserved = { "x-kubernetes-preserve-unknown-fields": true };
const configMaps = "/api/v1/namespaces/default/configmaps";

const operations: Attack = {
  name: "JSON patches with many operations",
  *steps({ random }) {
    yield {
      ...define({ schema: object({ spec: { type: "object", ...preserved } }) }),
      waitsForDefinition: true,
    };
    const any = anyJson(random, 60_000);
    yield post(
      hostilesPath,
      `{"apiVersion":"hold.example.com/v1","kind":"Kindhostiles","metadata":{"name":"x"},"spec":{"a":${any},"l":[${times(anySize(random, 15_000), String).join()}]}}`,
    );
    const value: unknown = JSON.parse(any);
    const deep = `/spec/a${"/0".repeat(random.integer(899))}`;
    const each = random.pick<(i: number) => object>([
      () => ({ op: "test", path: "/spec/a", value: 1 }),
      () => ({ op: "test", path: deep, value: [] }),
      (i) => ({ op: "add", path: "/spec/l/0", value: i }),
      () => ({ op: "remove", path: "/spec/l/0" }),
      (i) => ({ op: "move", from: "/spec/l/0", path: `/spec/l/${i % 2 === 0 ? "-" : 1}` }),
      (i) => ({ op: "add", path: `/spec/k${i}`, value: {} }),
      (i) => ({ op: "replace", path: "/metadata/annotations", value: { a: `v${i}` } }),
      (i) => ({ op: "copy", from: `/spec/l/${i % 9}`, path: `/spec/c${i}` }),
      (i) => ({ op: "add", path: `/spec/~1${"~0".repeat(anySize(random, 200))}${i}`, value: 1 }),
    ]);
    const count = anySize(random, 11_000);
    for (const list of [
      times(count, each),
      times(anySize(random, 40), () => ({ op: "test", path: "/spec/a", value })),
      times(count, (i) =>
        i % 2 === 0 ? each(i) : { op: "copy", from: "/spec/l", path: "/spec/m" },
      ),
    ])
      yield patch(`${hostilesPath}/x`, "json-patch+json", list);
    yield get(hostilesPath);
  },
};

const managers: Attack = {
  name: "fields of many managers",
  *steps({ random }) {
    const item = object({ k: text, v: text, n: preserved }, { required: ["k"] });
    const listed = (more: object) => ({ type: "array", items: item, ...more });
    yield {
      ...define({
        schema: object({
          spec: object({
            map: listed({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] }),
            atomic: listed({ "x-kubernetes-list-type": "atomic" }),
            set: { type: "array", items: text, "x-kubernetes-list-type": "set" },
            any: preserved,
          }),
        }),
        version: { subresources: { status: {} } },
      }),
      waitsForDefinition: true,
    };
    const spec = (): object => {
      const from = random.integer(2000);
      const size = anySize(random, 5900);
      return random.pick<() => object>([
        () => ({ map: times(size, (i) => ({ k: `k${from + i}`, v: "v" })) }),
        () => ({ set: times(size, (i) => `s${from + i}`) }),
        () => ({ any: JSON.parse(anyJson(random, 40_000)) as unknown }),
        () => ({
          map: times(size >> 1, (i) => ({ k: `k${i}`, n: { [`f${from}`]: { [`g${i}`]: 1 } } })),
        }),
        () => ({
          any: Object.fromEntries(times(Math.min(size * 3, 15_000), (i) => [`f${from + i}`, 1])),
        }),
      ])();
    };
    const body = () => ({
      apiVersion: "hold.example.com/v1",
      kind: "Kindhostiles",
      metadata: { name: "x" },
      spec: spec(),
    });
    const at = `${hostilesPath}/x`;
    const count = 2 + random.integer(14);
    for (let i = 0; i < count; i++) {
      const manager = `fieldManager=m${random.integer(count)}`;
      yield random.pick<Step>([
        patch(`${at}?${manager}&force=true`, "apply-patch+yaml", body()),
        patch(`${at}?${manager}&force=true`, "apply-patch+yaml", body()),
        patch(`${at}?${manager}`, "apply-patch+yaml", body()),
        patch(`${at}?${manager}`, "merge-patch+json", { spec: spec() }),
        patch(`${at}/status?${manager}&force=true`, "apply-patch+yaml", body()),
        get(at),
      ]);
    }
    const { text: stored } = yield get(at);
    const resourceVersion = /"resourceVersion":"(\d+)"/.exec(stored)?.[1] ?? "1";
    const fields = random.pick([
      `{"f:spec":{"f:map":{${times(anySize(random, 9000), (i) => `"k:{\\"k\\":\\"k${i}\\"}":{".":{},"f:v":{}}`).join()}}}}`,
      `{"f:spec":${'{"f:a":'.repeat(anySize(random, 890))}{}${"}".repeat(1)}`,
      `{"f:spec":{"f:set":{${times(anySize(random, 19_000), (i) => `"v:\\"s${i}\\"":{}`).join()}}}}`,
      `{"f:spec":{${times(anySize(random, 19_000), (i) => `"f:a${i}":{}`).join()}}}`,
    ]);
    const entries = times(
      1 + random.integer(12),
      (i) =>
        `{"manager":"z${i}","operation":"${random.pick(["Apply", "Update"])}","apiVersion":"hold.example.com/v1","fieldsType":"FieldsV1","time":"2026-01-01T00:00:00Z","fieldsV1":${fields}}`,
    );
    yield patch(
      at,
      "merge-patch+json",
      `{"metadata":{"resourceVersion":"${resourceVersion}","managedFields":[${entries.join()}]}}`.slice(
        0,
        3_000_000,
      ),
    );
    yield patch(`${at}?fieldManager=z0`, "apply-patch+yaml", body());
    yield patch(at, "merge-patch+json", { metadata: { managedFields: [{}] } });
    yield { method: "DELETE", path: at };
  },
};

/** The directives of strategic merges, on the lists and maps of native kinds. */
const strategic: Attack = {
  name: "strategic merges of long lists",
  *steps({ random }) {
    const size = () => anySize(random, 1000);
    const owners = (count: number, from = 0) =>
      times(count, (i) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        name: `n${i}`,
        uid: `u${from + i}`,
      }));
    const finalizers = (count: number, from = 0) => times(count, (i) => `a.b/f${from + i}`);
    const made = (name: string, kind: string) => ({
      apiVersion: "v1",
      kind,
      metadata: { name, ownerReferences: owners(size()), finalizers: finalizers(size()) },
      ...(kind === "ConfigMap"
        ? { data: Object.fromEntries(times(anySize(random, 19_000), (i) => [`k${i}`, "v"])) }
        : { secrets: times(anySize(random, 19_000), (i) => ({ name: `s${i}` })) }),
    });
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    for (const [path, kind] of [
      [configMaps, "ConfigMap"],
      [accounts, "ServiceAccount"],
    ] as const) {
      yield post(path, made("s", kind));
      for (let i = 1 + random.integer(4); i > 0; i--) {
        const from = random.integer(2000);
        yield patch(
          `${path}/s`,
          "strategic-merge-patch+json",
          random.pick<() => object>([
            () => ({ metadata: { ownerReferences: owners(size(), from) } }),
            () => ({ metadata: { "$deleteFromPrimitiveList/finalizers": finalizers(size()) } }),
            () => ({ metadata: { finalizers: finalizers(size(), from) } }),
            () => ({
              metadata: {
                "$setElementOrder/finalizers": finalizers(anySize(random, 19_000)).reverse(),
                finalizers: finalizers(size(), from),
              },
            }),
            () => ({
              metadata: {
                ownerReferences: owners(anySize(random, 15_000)).map(({ uid }) => ({
                  $patch: "delete",
                  uid,
                })),
              },
            }),
            () => ({
              secrets: times(anySize(random, 19_000), (n) => ({ name: `s${from + n}` })),
              "$setElementOrder/secrets": times(anySize(random, 19_000), (n) => ({
                name: `s${n}`,
              })),
            }),
            () => ({ data: { $patch: "replace", [`k${from}`]: "x" } }),
            () => ({ data: { $retainKeys: times(anySize(random, 19_000), (n) => `k${n}`) } }),
          ])(),
        );
      }
    }
    yield { method: "DELETE", path: accounts };
  },
};

export const mergeAttacks: readonly Attack[] = [operations, managers, strategic];
