/** Documents of very many kinds are built in steps whose number follows the number of kinds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { builtIns, type ResourceDefinition } from "../registry/index.ts";
import { apiGroupList, apiResourceList, groupDiscoveryList } from "./documents.ts";

function kinds(count: number): ResourceDefinition[] {
  return Array.from({ length: count }, (_, i) => ({
    ...(builtIns[0] as ResourceDefinition),
    group: `g${i % 10}.example.com`,
    version: `v${1 + (i % 7)}`,
    resource: `kind${i}s`,
  }));
}

/** Counts how often a document looks at the group of a definition. */
function counted(definitions: readonly ResourceDefinition[]) {
  const looks = { count: 0 };
  const watched = definitions.map(
    (definition) =>
      new Proxy(definition, {
        get(target, member, receiver): unknown {
          if (member === "group") looks.count++;
          return Reflect.get(target, member, receiver);
        },
      }),
  );
  return { looks, watched };
}

describe("discovery documents of very many kinds", () => {
  for (const [name, build] of [
    ["an APIGroupList", apiGroupList],
    ["an APIGroupDiscoveryList", (of) => groupDiscoveryList(of, false)],
    ["an APIResourceList", (of) => apiResourceList(of, "g1.example.com", "v2")],
  ] as const satisfies readonly (readonly [
    string,
    (of: readonly ResourceDefinition[]) => Iterable<void>,
  ])[]) {
    it(`${name} yields between some of the kinds`, () => {
      assert.ok([...build(kinds(7000))].length >= 5);
    });

    it(`${name} looks at each kind a few times, however many there are`, () => {
      const { looks, watched } = counted(kinds(700));
      assert.ok([...build(watched)].length >= 0);
      assert.ok(looks.count <= 3 * watched.length, String(looks.count));
    });
  }
});
