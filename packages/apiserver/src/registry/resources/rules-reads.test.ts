/**
 * Rules look at all of an object in one turn of the event loop: they read each item of its lists a
 * limited number of times, however many items other lists have.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { decodeShape } from "@kcp-ts/machinery/shape";
import { countedReads } from "@kcp-ts/testkit";
import type { Draft } from "../strategy.ts";
import { nativeKinds } from "./native-kinds.ts";

const times = <Item>(count: number, item: (i: number) => Item) =>
  Array.from({ length: count }, (_, i) => item(i));

const container = { name: "c", image: "i" };
const template = (spec: object) => ({ template: { metadata: { labels: { a: "b" } }, spec } });

/** Objects with `n` items in each of the lists that are compared with each other. */
const rows: readonly (readonly [string, string, (n: number) => object])[] = [
  [
    "volumes and containers",
    "PodTemplate",
    (n) =>
      template({
        containers: times(n, (i) => ({ name: `c${i}`, image: "i" })),
        initContainers: times(n, (i) => ({ name: `i${i}`, image: "i" })),
        volumes: times(n, (i) => ({ name: `v${i}`, emptyDir: {} })),
      }),
  ],
  [
    "topology spread constraints",
    "PodTemplate",
    (n) =>
      template({
        containers: [container],
        topologySpreadConstraints: times(n, (i) => ({
          maxSkew: 1,
          topologyKey: `k${i}`,
          whenUnsatisfiable: "DoNotSchedule",
        })),
      }),
  ],
  [
    "tolerations",
    "Pod",
    (n) => ({
      spec: {
        containers: [container],
        tolerations: times(n, (i) => ({ key: `k${i}`, operator: "Exists" })),
      },
    }),
  ],
];

/** What the rules of an update without changes read of an object. */
function readsOf(kind: string, content: object): number {
  const native = nativeKinds.find((each) => each.kind === kind);
  assert.ok(native !== undefined);
  const metadata = { name: "x", namespace: "default" };
  const { value } = decodeShape(native.shape, { metadata, ...content } as unknown as JsonObject);
  native.setDefaults?.(value as Draft);
  const [updated, old] = [countedReads(value as JsonObject), countedReads(value as JsonObject)];
  const errors = [
    ...(native.validate?.(updated.object) ?? []),
    ...(native.validateUpdate?.(updated.object, old.object) ?? []),
  ];
  assert.deepEqual(errors, []);
  return updated.reads() + old.reads();
}

describe("the rules of native kinds", () => {
  for (const [what, kind, content] of rows)
    it(`read ${what} of a ${kind} twice as often when there are twice as many`, () => {
      const [one, two] = [readsOf(kind, content(100)), readsOf(kind, content(200))];
      assert.ok(two < 2.2 * one, `${one} and ${two} reads`);
    });
});
