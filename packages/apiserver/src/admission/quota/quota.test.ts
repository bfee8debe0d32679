/** Goal: the counts and messages of quotas, and batched charges that never exceed a quota. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { countNames, parseAmounts } from "@kcp-ts/machinery/quota";
import fc from "fast-check";
import { QuotaCharger } from "./quota-charger.ts";
import { limitedAmounts, type QuotaStatus, quotaExceededMessage, withUsage } from "./usage.ts";

const pods = parseAmounts({ pods: "1" });

describe("the resource names that a quota counts", () => {
  it("are a short name in the core group, and count/ names in all groups", () => {
    const names = (group: string, resource: string) => countNames({ group, resource });
    assert.deepEqual(names("", "configmaps"), ["configmaps", "count/configmaps"]);
    assert.deepEqual(names("", "events"), ["count/events"]);
    assert.deepEqual(names("example.com", "widgets"), ["count/widgets.example.com"]);
  });
});

describe("the message of an exceeded quota", () => {
  const status: QuotaStatus = {
    hard: { configmaps: "2", "count/configmaps": "1k" },
    used: { configmaps: "2", "count/configmaps": "2" },
  };
  const names = limitedAmounts(
    status,
    parseAmounts({ configmaps: "1", "count/configmaps": "1", secrets: "1" }),
  );

  it("names only the exceeded resources", () => {
    assert.equal(
      quotaExceededMessage("q", status, names),
      "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2",
    );
  });

  it("says when the status of the quota is unknown", () => {
    assert.equal(
      quotaExceededMessage("q", { ...status, used: {} }, names),
      "status unknown for quota: q, resources: configmaps,count/configmaps",
    );
  });

  it("has quantities that are compared as such, and canonical sums", () => {
    const memory = { hard: { "requests.memory": "1Gi" }, used: { "requests.memory": "512Mi" } };
    const more = parseAmounts({ "requests.memory": "600Mi" });
    assert.equal(
      quotaExceededMessage("q", memory, more),
      "exceeded quota: q, requested: requests.memory=600Mi, used: requests.memory=512Mi, limited: requests.memory=1Gi",
    );
    const half = parseAmounts({ "requests.memory": "512Mi" });
    assert.equal(quotaExceededMessage("q", memory, half), undefined);
    assert.equal(withUsage(memory, half, 1).used["requests.memory"], "1Gi");
  });

  it("is absent for the last place, and present for the next", () => {
    const almost = withUsage(status, parseAmounts({ configmaps: "1" }), -1);
    assert.equal(quotaExceededMessage("q", almost, names), undefined);
    assert.notEqual(
      quotaExceededMessage("q", withUsage(almost, parseAmounts({ configmaps: "1" }), 1), names),
      undefined,
    );
  });
});

describe("the quota charger", () => {
  const cluster = "a" as ClusterName;
  const quota = { namespace: "n", name: "q", object: {} };

  /** A quota store with concurrent writers, which win as often as `losses` says. */
  function store(limit: number, losses: number[]) {
    const state = {
      status: { hard: { pods: String(limit) }, used: { pods: "0" } } as QuotaStatus,
      writes: 0,
    };
    const update = async (
      _cluster: ClusterName,
      _quota: object,
      change: (status: QuotaStatus) => QuotaStatus,
    ) => {
      for (let lost = losses.pop() ?? 0; lost > 0; lost--) change(state.status);
      await Promise.resolve();
      state.status = change(state.status);
      state.writes++;
      return true;
    };
    return { state, update };
  }

  it("charges exactly as many objects as fit, in every order of charges and conflicts", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(20),
        fc.nat(40),
        fc.array(fc.nat(3), { maxLength: 20 }),
        async (limit, asked, losses) => {
          const { state, update } = store(limit, losses);
          const ledger = new QuotaCharger({ update });
          const answers = await Promise.all(
            Array.from({ length: asked }, () => ledger.charge(cluster, quota, pods)),
          );
          const admitted = answers.filter((refusal) => refusal === undefined).length;
          assert.equal(admitted, Math.min(limit, asked));
          assert.equal(Number(state.status.used["pods"]), admitted);
          if (asked > 0) assert.ok(state.writes <= 2, `${state.writes} writes`);
        },
      ),
    );
  });

  it("releases charges for objects that are not stored", async () => {
    const { state, update } = store(1, []);
    const ledger = new QuotaCharger({ update });
    assert.equal(await ledger.charge(cluster, quota, pods), undefined);
    assert.match((await ledger.charge(cluster, quota, pods)) ?? "", /exceeded quota/);
    await ledger.refund(cluster, quota, pods);
    assert.equal(state.status.used["pods"], "0");
    assert.equal(await ledger.charge(cluster, quota, pods), undefined);
  });

  it("reports that a quota cannot be written, and charges again afterwards", async () => {
    let isBroken = true;
    const { update } = store(5, []);
    const ledger = new QuotaCharger({
      update: (...call) => (isBroken ? Promise.reject(new Error("broken")) : update(...call)),
    });
    await assert.rejects(ledger.charge(cluster, quota, pods), /broken/);
    isBroken = false;
    assert.equal(await ledger.charge(cluster, quota, pods), undefined);
  });
});
