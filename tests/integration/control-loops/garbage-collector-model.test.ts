/**
 * Goal: whatever is created, owned, disowned and deleted, what is left is what the model says, in
 * every cluster and namespace. Method: seeded random histories against a live server with its
 * loops; a failure names its seed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import type { DynamicObject, OwnerReference } from "@kcp-ts/sdk";
import { SeededRandom } from "@kcp-ts/testkit";
import {
  ControllersFixture,
  eventually,
  observationPeriod,
  ownedBy,
} from "./controllers-fixture.ts";
import { line, OwnershipModel } from "./ownership-model.ts";

const places = ["a/one", "a/two", "b/one"] as const;
const policies = ["Background", "Foreground", "Orphan"] as const;
const patienceMs = 10_000;

describe("garbage collector against its model", () => {
  for (let seed = 1; seed <= 12; seed++) {
    it(`what is left after each step is what the model says (seed ${seed})`, async () => {
      await withHistory(seed, async (history) => {
        for (let step = 0; step < 25; step++) {
          await history.step({ isWaiting: true });
          await history.settled(`seed ${seed}, step ${step}`);
        }
      });
    });
  }

  for (let seed = 101; seed <= 112; seed++) {
    it(`what is left after a history in a hurry is what the model says (seed ${seed})`, async () => {
      await withHistory(seed, async (history) => {
        for (let step = 0; step < 80; step++) {
          await history.step({ isWaiting: false });
        }
        await history.settled(`seed ${seed}`);
      });
    });
  }
});

async function withHistory(seed: number, body: (history: History) => Promise<void>): Promise<void> {
  const plane = await ControllersFixture.start();
  try {
    for (const place of places) {
      const [cluster, namespace] = split(place);
      await plane.in(cluster).namespace(namespace);
    }
    plane.startControllers();
    const history = new History(plane, new SeededRandom(seed));
    await body(history);
    await observationPeriod();
    await history.settled(`seed ${seed}, a while later`);
  } finally {
    await plane.close();
  }
}

interface StepOptions {
  /**
   * Each step is waited for. Otherwise some outcomes are a matter of who is faster, and such steps
   * are left out: new owners for an object that may be going, and orphaning by an owner that may be
   * going, or whose dependents have other owners that may be going.
   */
  readonly isWaiting: boolean;
}

class History {
  readonly #plane: ControllersFixture;
  readonly #random: SeededRandom;
  readonly #model = new OwnershipModel();
  readonly #orphaning = new Set<string>();
  readonly #made: { readonly place: string; readonly object: DynamicObject }[] = [];

  constructor(fixture: ControllersFixture, random: SeededRandom) {
    this.#plane = fixture;
    this.#random = random;
  }

  async step(options: StepOptions): Promise<void> {
    const dice = this.#random.next();
    if (dice < 0.6 || this.#model.objects.length === 0) await this.#create();
    else if (dice < 0.75 && options.isWaiting) await this.#changeOwners();
    else await this.#delete(options);
  }

  async settled(context: string): Promise<void> {
    const expected = this.#model.describe();
    const deadline = systemClock.monotonic() + patienceMs;
    let actual: string[] = [];
    await eventually(async () => {
      actual = await this.#describe();
      return (
        JSON.stringify(actual) === JSON.stringify(expected) || systemClock.monotonic() > deadline
      );
    });
    assert.deepEqual(actual, expected, context);
    assert.deepEqual(this.#plane.errors, [], context);
  }

  async #create(): Promise<void> {
    const place = this.#pick(places);
    const references = this.#references(place);
    const name = `o${this.#made.length}`;
    const [cluster, namespace] = split(place);
    const object = await this.#plane
      .in(cluster)
      .configMap(name, { namespace, ownerReferences: references });
    const { uid = "" } = object.metadata;
    this.#made.push({ place, object });
    this.#model.put({ namespace: place, name, uid, owners: references.map((one) => one.uid) });
  }

  async #changeOwners(): Promise<void> {
    const { namespace: place, name, uid } = this.#pick(this.#model.objects);
    const ownerReferences = this.#references(place).filter((one) => one.uid !== uid);
    const [cluster, namespace] = split(place);
    await this.#plane
      .in(cluster)
      .configMaps.modify({ namespace, name }, (current) => ({
        ...current,
        metadata: { ...current.metadata, ownerReferences },
      }));
    this.#model.put({ namespace: place, name, uid, owners: ownerReferences.map((one) => one.uid) });
  }

  async #delete({ isWaiting }: StepOptions): Promise<void> {
    const { namespace: place, name, uid } = this.#pick(this.#model.objects);
    const mayOrphan = isWaiting || this.#isOnlyOwnerOfAll(uid);
    const propagationPolicy = this.#pick(policies.filter((one) => one !== "Orphan" || mayOrphan));
    const [cluster, namespace] = split(place);
    const preconditions = { uid };
    await this.#plane
      .in(cluster)
      .configMaps.delete({ namespace, name }, { propagationPolicy, preconditions });
    if (propagationPolicy === "Orphan") this.#orphaning.add(uid);
    this.#model.delete(uid, propagationPolicy === "Orphan" ? "orphan" : "cascade");
  }

  /** As made: what the collector has taken away meanwhile does not count. */
  #isOnlyOwnerOfAll(uid: string): boolean {
    return this.#made.every(({ object: { metadata } }) => {
      const owners = metadata.ownerReferences ?? [];
      if (metadata.uid === uid) return owners.length === 0;
      return owners.length <= 1 || !owners.some((one) => one.uid === uid);
    });
  }

  /**
   * Mostly to objects that live in the same place; sometimes to others, or to what is gone. Not to
   * what was told to orphan: whether it also leaves behind who comes later is a matter of time.
   */
  #references(place: string): OwnerReference[] {
    const living = new Set(this.#model.objects.map(({ uid }) => uid));
    const near = this.#made.filter(
      (one) => one.place === place && living.has(one.object.metadata.uid ?? ""),
    );
    const count = Math.floor(this.#random.next() * 3);
    const references = new Map<string, OwnerReference>();
    for (let i = 0; i < count; i++) {
      const any = this.#made.filter(
        ({ object }) => !this.#orphaning.has(object.metadata.uid ?? ""),
      );
      const from = this.#random.next() < 0.85 && near.length > 0 ? near : any;
      if (from.length === 0) continue;
      const blockOwnerDeletion = this.#random.next() < 0.5;
      const reference = ownedBy(this.#pick(from).object, { blockOwnerDeletion });
      references.set(reference.uid, reference);
    }
    return [...references.values()];
  }

  async #describe(): Promise<string[]> {
    const lines: string[] = [];
    for (const place of places) {
      const [cluster, namespace] = split(place);
      const { items } = await this.#plane.in(cluster).configMaps.list({ namespace });
      for (const { metadata } of items) {
        if (metadata.name === "kube-root-ca.crt") continue;
        const owners = (metadata.ownerReferences ?? []).map(({ uid }) => uid);
        lines.push(line({ namespace: place, name: metadata.name, owners }));
      }
    }
    return lines.sort();
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random.next() * items.length)] as Item;
  }
}

function split(place: string): [cluster: string, namespace: string] {
  return place.split("/") as [string, string];
}
