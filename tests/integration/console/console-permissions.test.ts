/** Buttons and parts of pages follow what the user may do, in a real browser. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { Locator, Page } from "playwright-core";
import {
  browserMissing,
  ConsoleEnvironment,
  namespace,
  serviceAccountToken,
  until,
} from "./console-environment.ts";

describe("the permissions of the console", { skip: browserMissing, timeout: 900_000 }, () => {
  let environment: ConsoleEnvironment;
  let readerToken: string;
  const pages: Page[] = [];

  before(async () => {
    environment = await ConsoleEnvironment.open();
    await environment.placeWorkload();
    const { client } = environment;
    await client
      .resource(kinds.clusterRoles)
      .create({
        metadata: { name: "reads-all" },
        rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["get", "list", "watch"] }],
      });
    readerToken = (await serviceAccountToken(environment, "reads-all", "reads-all")).token;
  });
  after(() => environment.close());
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
    assert.deepEqual(environment.problems.splice(0), [], "policies were violated");
  });

  const open = async (path: string, token?: string) => {
    const page = await environment.page(path, token);
    pages.push(page);
    return page;
  };
  const logIn = async (page: Page, token: string) => {
    await page.getByRole("textbox", { name: "Token" }).fill(token);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
  };
  const refuses = async (button: Locator, verb: string) => {
    await until("the button says why", async () => (await button.getAttribute("title")) !== null);
    assert.equal(await button.getAttribute("title"), `You may not ${verb} here.`);
    assert.equal(await button.isDisabled(), true);
  };

  it("buttons follow the user who is logged in, and not the one before in the same tab", async () => {
    const page = await open("c/root", "");
    const create = page.getByRole("button", { name: "Create workspace" });
    await logIn(page, environment.token);
    await until("the admin may create", () => create.isEnabled());
    await page.getByRole("button", { name: "Log out" }).click();
    await logIn(page, readerToken);
    await refuses(create, "create workspaces");
    await page.getByRole("button", { name: "Log out" }).click();
    await logIn(page, environment.token);
    await until("the admin may create", () => create.isEnabled());
  });

  it("buttons follow the permissions that a user was given since the page was opened", async () => {
    const { client } = environment;
    const { token } = await serviceAccountToken(environment, "late", "reads-all");
    const page = await open("c/root/clusters", token);
    await page.clock.install();
    const register = page.getByRole("button", { name: "Register cluster" });
    await page.reload();
    await refuses(register, "create synctargets");
    await client
      .resource(kinds.clusterRoleBindings)
      .create({
        metadata: { name: "late-admin" },
        roleRef: {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: "cluster-admin",
        },
        subjects: [{ kind: "ServiceAccount", name: "late", namespace }],
      });
    await page.clock.fastForward(31_000);
    await page.getByRole("link", { name: "Sharing" }).click();
    await page.getByRole("heading", { level: 1, name: "Sharing" }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Clusters" }).click();
    await until("the user may register", () => register.isEnabled());
  });

  it("a review that fails allows nothing, is said, and is asked for again", async () => {
    const page = await open("c/root", "");
    await page.route("**/selfsubjectaccessreviews", (route) => route.abort());
    await logIn(page, environment.token);
    const create = page.getByRole("button", { name: "Create workspace" });
    await until("the button says why", async () => (await create.getAttribute("title")) !== null);
    assert.match((await create.getAttribute("title")) ?? "", /^The server does not say whether/);
    assert.equal(await create.isDisabled(), true);
    await page.unroute("**/selfsubjectaccessreviews");
    await until("the admin may create", () => create.isEnabled());
  });

  it("dialogs that an address opens, and answers of questions, write for those who may only", async () => {
    const refused = async (path: string, button: string, verb: string) => {
      const page = await open(path, readerToken);
      const dialog = page.getByRole("dialog");
      await refuses(dialog.getByRole("button", { name: button, exact: true }), verb);
      await dialog.getByText(`You may not ${verb} here.`).waitFor();
    };
    await refused("c/root?do=create", "Create", "create workspaces");
    await refused("c/root/clusters?do=create", "Register for an agent", "create synctargets");
    await refused("c/root/cluster/us-east1?do=drain", "Drain", "patch synctargets");
    const creating = await open("c/root/create/configmaps", readerToken);
    await refuses(
      creating.getByRole("button", { name: "Create", exact: true }),
      "create configmaps",
    );
    const metadata = { name: "everywhere" };
    await environment.client
      .resource(kinds.placements)
      .create({ metadata, spec: { namespaceSelector: {} } });
    const page = await open("c/root/placement/default/deployment-web", readerToken);
    await page.getByRole("button", { name: "If drained" }).click();
    await refuses(page.getByRole("button", { name: /^Drain us-/ }), "patch synctargets");
    await page.getByLabel("Replicas").fill("20");
    await page.getByRole("button", { name: "If scaled" }).click();
    await refuses(page.getByRole("button", { name: "Scale to 20" }), "patch deployments");
    await page.getByLabel("Weights").fill("us-east1=3");
    await page.getByRole("button", { name: "If weighted" }).click();
    await refuses(page.getByRole("button", { name: "Write these weights" }), "patch placements");
  });

  it("parts that a user may not see say what is missing", async () => {
    const { client } = environment;
    await client
      .resource(kinds.clusterRoles)
      .create({
        metadata: { name: "reads-deployments" },
        rules: [
          { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "watch"] },
        ],
      });
    const { token } = await serviceAccountToken(environment, "narrow", "reads-deployments");
    const page = await open("c/root/object/deployments.apps/default/web", token);
    await page.getByText("You may not see Events", { exact: true }).waitFor();
    await page.getByText("You may not see the placement", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Find what it owns" }).click();
    await page.getByText(/^You may not list .*pods/).waitFor();
    const workspace = await open("c/root", token);
    await workspace.getByText("You may not see the clusters here.").waitFor();
    await workspace.getByText("You may not see the placements here.").waitFor();
  });

  it("only workloads with replicas are asked about with another number of them", async () => {
    const { client } = environment;
    const spec = { containers: [{ name: "once", image: "once:1" }], restartPolicy: "Never" };
    await client
      .resource(kinds.jobs)
      .create({ metadata: { name: "once", namespace }, spec: { template: { spec } } } as never);
    await until("the Job is placed", async () => {
      const name = "job-once";
      return (
        (await client.resource(kinds.workloadPlacements).find({ namespace, name })) !== undefined
      );
    });
    const page = await open("c/root/placement/default/job-once");
    await page.getByText("A Job has no number of replicas to change.").waitFor();
    assert.equal(await page.getByRole("button", { name: "If scaled" }).count(), 0);
  });
});
