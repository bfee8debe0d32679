/**
 * Laws of server-side apply, on random configurations of a type that has every kind of container.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isEmptyObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { isStatusError } from "../status/index.ts";
import {
  applyConfiguration,
  atomicType,
  compareTyped,
  deducedType,
  type FieldSet,
  hasPath,
  intersectFieldSets,
  keyedListType,
  leavesOf,
  listType,
  managedFieldsOf,
  mapType,
  mergeTyped,
  numericType,
  objectType,
  ownedFields,
  pathsOf,
  setType,
  sortFieldSet,
  stringType,
  structType,
  subtractFieldSet,
  unionFieldSets,
  updateManagedFields,
} from "./index.ts";

const item = structType({ name: stringType, value: numericType, inner: mapType(numericType) });
const spec = structType({
  scalar: numericType,
  struct: structType({ a: numericType, b: numericType }),
  map: mapType(mapType(numericType)),
  whole: atomicType(structType({ a: numericType, b: numericType })),
  list: listType(numericType),
  set: setType(numericType),
  items: keyedListType(["name"], item),
  free: deducedType,
});
const schema = objectType({ spec });
const common = { apiVersion: "v1", kind: "K", now: "2026-01-01T00:00:00Z", schema } as const;

const value = fc.integer({ min: 0, max: 2 });
const small = <T>(values: fc.Arbitrary<T>) =>
  fc.dictionary(fc.constantFrom("a", "b"), values, { noNullPrototype: true });
const config: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      scalar: value,
      struct: small(value),
      map: small(small(value)),
      whole: small(value),
      list: fc.array(value, { maxLength: 2 }),
      set: fc.uniqueArray(value),
      items: fc.uniqueArray(
        fc.record(
          { name: fc.constantFrom("x", "y", "z"), value, inner: small(value) },
          { requiredKeys: ["name"], noNullPrototype: true },
        ),
        { selector: ({ name }) => name },
      ),
      free: fc.oneof(
        value,
        small(fc.oneof(value, small(value))),
        fc.array(value, { maxLength: 2 }),
      ),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
  .map((fields) => ({
    apiVersion: "v1",
    kind: "K",
    metadata: { name: "x" },
    spec: fields as JsonObject,
  }));

function apply(live: JsonObject | undefined, manager: string, applied: JsonObject): JsonObject {
  return applyConfiguration({ ...common, live, manager, config: applied, force: false });
}

function force(live: JsonObject | undefined, manager: string, applied: JsonObject): JsonObject {
  return applyConfiguration({ ...common, live, manager, config: applied, force: true });
}

function update(live: JsonObject | undefined, manager: string, updated: JsonObject): JsonObject {
  return updateManagedFields({ ...common, live, manager, updated });
}

function setsOf(object: JsonObject): Map<string, FieldSet> {
  const entries = (managedFieldsOf(object) ?? []) as readonly JsonObject[];
  return new Map(
    entries.map((entry) => [
      `${entry["operation"]} ${entry["manager"]}`,
      entry["fieldsV1"] as FieldSet,
    ]),
  );
}

/** Everything that the configuration says is so in the object, but for the order of items. */
function holds(object: JsonObject, applied: JsonObject): boolean {
  const changes = compareTyped(object, mergeTyped(object, applied, schema), schema);
  return Object.values(changes).every(isEmptyObject);
}

const empty: JsonObject = { apiVersion: "v1", kind: "K", metadata: { name: "x" } };

describe("server-side apply", () => {
  it("is idempotent", () => {
    fc.assert(
      fc.property(config, config, (before, applied) => {
        const once = force(apply(undefined, "a", before), "b", applied);
        assert.equal(force(once, "b", applied), once);
        assert.equal(apply(once, "b", applied), once, "and needs no force for what it owns");
      }),
    );
  });

  it("makes the configuration hold", () => {
    fc.assert(
      fc.property(config, config, config, (before, between, applied) => {
        const object = force(update(apply(undefined, "a", before), "u", between), "b", applied);
        assert.ok(holds(object, applied));
      }),
    );
  });

  it("leaves one owner of every field that was taken by force", () => {
    fc.assert(
      fc.property(config, config, (before, applied) => {
        const live = apply(undefined, "a", before);
        const forced = force(force(live, "b", applied), "b", applied);
        const { modified } = compareTyped(live, forced, schema);
        const a = setsOf(forced).get("Apply a") ?? {};
        assert.ok(isEmptyObject(intersectFieldSets(a, modified)));
        for (const path of pathsOf(
          leavesOf(intersectFieldSets(modified, ownedFields(applied, schema))),
        )) {
          assert.ok(hasPath(setsOf(forced).get("Apply b") ?? {}, path));
        }
      }),
    );
  });

  it("removes a field without other owners when its applier drops it", () => {
    fc.assert(
      fc.property(config, config, (before, applied) => {
        const object = apply(apply(undefined, "a", before), "a", applied);
        const only = apply(undefined, "a", applied);
        const { added, removed } = compareTyped(withoutEmpty(only), withoutEmpty(object), schema);
        assert.deepEqual([added, removed], [{}, {}]);
      }),
    );
  });

  it("keeps what another applier owns as well", () => {
    fc.assert(
      fc.property(config, (applied) => {
        const shared = apply(apply(undefined, "a", applied), "b", applied);
        const left = apply(shared, "a", empty);
        assert.ok(holds(left, applied));
        assert.deepEqual(
          [...setsOf(left).keys()].filter((name) => name === "Apply a"),
          [],
        );
      }),
    );
  });

  it("of two configurations that do not disagree makes both hold, without conflict", () => {
    fc.assert(
      fc.property(config, fc.func(fc.constantFrom("a", "b", "both")), (whole, side) => {
        const first = partOf(whole, (path) => side(path) !== "b");
        const second = partOf(whole, (path) => side(path) !== "a");
        const both = apply(apply(undefined, "a", first), "b", second);
        assert.ok(holds(both, first));
        assert.ok(holds(both, second));
      }),
    );
  });

  it("fails with a conflict or makes both configurations hold", () => {
    fc.assert(
      fc.property(config, config, (first, second) => {
        // A value without a schema that changes its shape is the exception, see
        // apply-configuration.test.ts.
        fc.pre(shapeOfFree(first) === shapeOfFree(second));
        const live = apply(undefined, "a", first);
        try {
          const both = apply(live, "b", second);
          assert.ok(holds(both, first));
          assert.ok(holds(both, second));
        } catch (error) {
          if (!isStatusError(error, "Conflict")) throw error;
          assert.ok(!holds(live, second));
        }
      }),
    );
  });

  const step = fc.tuple(fc.constantFrom("force", "update"), fc.constantFrom("a", "b", "c"), config);

  it("never lets anybody own what is not there, and writes sets in order", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
        let live: JsonObject | undefined;
        for (const [operation, manager, object] of steps) {
          live = (operation === "force" ? force : update)(live, manager, object);
        }
        const object = live as JsonObject;
        const { added: present } = compareTyped({}, object, schema);
        let owned: FieldSet = {};
        for (const set of setsOf(object).values()) {
          owned = unionFieldSets(owned, set);
          assert.equal(sortFieldSet(set), set);
        }
        assert.deepEqual(subtractFieldSet(owned, present), {});
      }),
    );
  });
});

function shapeOfFree(object: JsonObject): string {
  const { free } = object["spec"] as JsonObject;
  return Array.isArray(free) ? "list" : typeof free;
}

/**
 * The leaves of a configuration whose path is chosen; names of list items come along with what is
 * in them.
 */
function partOf(whole: JsonObject, choose: (path: string) => boolean): JsonObject {
  const { spec: all, ...rest } = whole;
  const pick = (node: JsonValue, path: string): JsonValue | undefined => {
    if (Array.isArray(node) && path.endsWith("items")) {
      return (node as JsonObject[]).flatMap((item) => {
        const { name, ...fields } = item;
        const part = pick(fields, `${path}/${String(name)}`);
        return part === undefined ? [] : [{ name: name as JsonValue, ...(part as JsonObject) }];
      });
    }
    if (typeof node !== "object" || node === null || Array.isArray(node)) {
      return choose(path) ? node : undefined;
    }
    // An atomic map is a leaf.
    if (path.endsWith("whole")) return choose(path) ? node : undefined;
    const entries = Object.entries(node)
      .map(([key, inner]) => [key, pick(inner as JsonValue, `${path}/${key}`)] as const)
      .filter(([, inner]) => inner !== undefined);
    return entries.length === 0 ? undefined : (Object.fromEntries(entries) as JsonObject);
  };
  const part = pick(all as JsonValue, "");
  return part === undefined ? rest : { ...rest, spec: part };
}

/**
 * An applier that drops all of a container may leave it empty or take it away; which of both is not
 * the point here.
 */
function withoutEmpty(object: JsonObject): JsonObject {
  const clean = (node: JsonValue): JsonValue | undefined => {
    if (Array.isArray(node)) return node.length === 0 ? undefined : (node as JsonValue);
    if (typeof node !== "object" || node === null) return node;
    const entries = Object.entries(node)
      .filter(([key]) => key !== "managedFields")
      .map(([key, inner]) => [key, clean(inner as JsonValue)] as const)
      .filter(([, inner]) => inner !== undefined);
    return entries.length === 0 ? undefined : (Object.fromEntries(entries) as JsonObject);
  };
  return (clean(object) ?? {}) as JsonObject;
}
