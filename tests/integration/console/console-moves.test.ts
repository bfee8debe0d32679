/** Moves of a workload in a real browser, as they happen: drains, what blocks them, and undo. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { Page } from "playwright-core";
import { browserMissing, ConsoleEnvironment, namespace, until } from "./console-environment.ts";

describe("the console, while a workload moves", { skip: browserMissing, timeout: 900_000 }, () => {
  let environment: ConsoleEnvironment;
  const pages: Page[] = [];
  /** Of Pods that start from now on. */
  const startDelayMs = { min: 50, max: 200 };
  const setStartDelay = (ms: number) => Object.assign(startDelayMs, { min: ms, max: ms });

  before(async () => {
    environment = await ConsoleEnvironment.open();
    await environment.placeWorkload(startDelayMs);
  });
  after(() => environment.close());
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
    const problems = environment.problems.splice(0);
    assert.deepEqual(problems, [], "policies were violated, or scripts failed");
  });

  const open = async (path: string) => {
    const page = await environment.page(path);
    pages.push(page);
    return page;
  };
  const drain = async (page: Page) => {
    const button = page.getByRole("button", { name: "Drain…" });
    await until("the user may drain", () => button.isEnabled());
    await button.click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("4 replicas of 1 workload would move").waitFor();
    await dialog.getByRole("button", { name: "Drain", exact: true }).click();
  };
  const rowOf = (page: Page, name: RegExp) => page.getByRole("row", { name });

  it("a move is shown as it happens, with the progress of the drain, and is undone", async () => {
    const placement = await open("c/root/placement/default/deployment-web");
    await rowOf(placement, /^us-east1 .*4 \/ 4/).waitFor();
    // What replaces the replicas does not start within this test.
    setStartDelay(3_600_000);
    const cluster = await open("c/root/cluster/us-east1");
    await drain(cluster);
    await cluster.getByText(/^0 of 1 workloads have left, 4 replicas are still there\./).waitFor();
    assert.equal(await cluster.getByRole("progressbar").getAttribute("value"), "0");
    await rowOf(placement, /^us-east1 .*Draining 4 \/ 0.*Replacing ClusterDraining/).waitFor();
    await rowOf(placement, /^us-west1 .*4 \/ 8.*Starting/).waitFor();
    await placement.getByText(/^4 replicas are removed when their replacements/).waitFor();
    await cluster.getByRole("button", { name: "Uncordon", exact: true }).click();
    await cluster.getByRole("button", { name: "Cordon", exact: true }).waitFor();
    assert.equal(await cluster.getByRole("progressbar").count(), 0);
    await rowOf(placement, /^us-east1 .*4 \/ 4/).waitFor();
    await rowOf(placement, /^us-west1 .*4 \/ 4/).waitFor();
    setStartDelay(50);
  });

  it("what cannot leave a cluster by itself is named while it is drained, and leaves when it can", async () => {
    const deployments = environment.client.resource(kinds.deployments);
    const part = { namespace, name: "web--us-east1" };
    const finalizer = "finalizers.workload.kcp.io/us-east1";
    const annotate = (value: string | null) =>
      deployments.patch(part, {
        type: "merge",
        patch: { metadata: { annotations: { [finalizer]: value } } } as never,
      });
    await annotate("example.com/backup");
    const page = await open("c/root/cluster/us-east1");
    await drain(page);
    const region = page.getByRole("region", { name: "Drain" });
    await region.getByRole("heading", { name: "What cannot leave by itself" }).waitFor();
    await region.getByText("Deployment default/web: DisruptionBlocked").waitFor();
    assert.equal(await region.getByRole("progressbar").getAttribute("value"), "0");
    await annotate(null);
    await region.getByText(/^Drained:/).waitFor();
    const progress = region.getByRole("progressbar");
    assert.equal(await progress.getAttribute("value"), await progress.getAttribute("max"));
    assert.equal(await region.getByText("DisruptionBlocked").count(), 0);
  });

  it("the history of decisions says what was decided, the newest first", async () => {
    const page = await open("c/root/placement/default/deployment-web");
    const history = page
      .getByRole("region", { name: "History of decisions" })
      .getByRole("listitem");
    await until("the drain is the last decision", async () =>
      /^.* ago\s*8: us-west1 8\b/.test(await history.first().innerText()),
    );
    assert.match((await history.allInnerTexts()).join("\n"), /8: us-east1 4, us-west1 4/);
  });

  it("the server restarts under a placement and a cluster: it is said, it heals, and goes on", async () => {
    const placement = await open("c/root/placement/default/deployment-web");
    const cluster = await open("c/root/cluster/us-east1");
    await rowOf(placement, /^us-west1 .*8 \/ 8/).waitFor();
    await cluster.getByText(/^Drained:/).waitFor();
    await environment.restart(async () => {
      for (const page of [placement, cluster])
        await page.getByText("Connection lost, trying again…").waitFor();
      await rowOf(placement, /^us-west1 .*8 \/ 8/).waitFor();
    });
    for (const page of [placement, cluster]) await page.locator(".connection.live").waitFor();
    await cluster.getByRole("button", { name: "Uncordon", exact: true }).click();
    await cluster.getByRole("button", { name: "Cordon", exact: true }).waitFor();
    await environment.client
      .resource(kinds.deployments)
      .patch({ namespace, name: "web" }, { type: "merge", patch: { spec: { replicas: 10 } } });
    await placement.getByText("10/10").first().waitFor();
  });
});
