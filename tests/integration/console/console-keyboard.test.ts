/** The console by keys alone: each control is reached with Tab or arrows, never with a pointer. */
import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { Locator, Page } from "playwright-core";
import {
  browserMissing,
  ConsoleEnvironment,
  namespace,
  seriousFindings,
  shareCowboys,
  until,
} from "./console-environment.ts";

describe("the console by keys alone", { skip: browserMissing, timeout: 900_000 }, () => {
  let environment: ConsoleEnvironment;
  const pages: Page[] = [];

  before(async () => {
    environment = await ConsoleEnvironment.open();
    await environment.placeWorkload();
    await shareCowboys(environment);
  });
  after(() => environment.close());
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
    assert.deepEqual(environment.problems.splice(0), [], "policies were violated");
  });

  const open = async (path: string) => {
    const page = await environment.page(path);
    pages.push(page);
    await page.getByRole("heading", { level: 1 }).waitFor();
    return page;
  };
  const isFocused = (target: Locator) => target.evaluate((element) => element.matches(":focus"));

  /** Tab, as often as it takes: at most once through the page. */
  const tabTo = async (page: Page, target: Locator) => {
    await until("the control can be used", () => target.isEnabled());
    for (let stops = 0; stops < 150; stops++) {
      if (await isFocused(target)) return;
      await page.keyboard.press("Tab");
    }
    assert.fail("Tab does not reach it");
  };
  const press = async (page: Page, target: Locator) => {
    await tabTo(page, target);
    await page.keyboard.press("Enter");
  };

  it("rows of a list have the focus: arrows move it, Space selects, Enter opens", async () => {
    const maps = environment.client.resource(kinds.configMaps);
    for (const name of ["key-a", "key-b", "key-c"])
      await maps.create({ metadata: { name, namespace } });
    const page = await open("c/root/list/configmaps?ns=default&name=key-");
    await page.getByRole("link", { name: "key-c", exact: true }).waitFor();
    await tabTo(page, page.getByRole("region", { name: "configmaps: rows" }));
    const row = (name: string) => page.locator("tbody tr", { hasText: name });
    for (const [key, name] of [
      ["ArrowDown", "key-a"],
      ["End", "key-c"],
      ["ArrowUp", "key-b"],
    ] as const) {
      await page.keyboard.press(key);
      await until(`${name} has the focus`, () => isFocused(row(name)));
    }
    assert.equal(await page.locator("tbody tr[tabindex='0']").count(), 1, "one stop of Tab");
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Delete 1…" }).waitFor();
    assert.equal(await page.getByLabel("Select key-b").isChecked(), true);
    assert.deepEqual(await seriousFindings(page), []);
    // A row that comes before it moves it, and the focus stays on the same object.
    await maps.create({ metadata: { name: "key-aa", namespace } });
    await row("key-aa").waitFor();
    assert.equal(await isFocused(row("key-b")), true);
    await page.keyboard.press("ArrowDown");
    await until("the next row has the focus", () => isFocused(row("key-c")));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /default\/key-c/ }).waitFor();
    assert.equal(await isFocused(page.locator("main")), true, "a new page begins at its top");
  });

  it("the tree is one stop of Tab: arrows open, close and move, Enter goes there", async () => {
    const { client } = environment;
    for (const parent of [client, client.inCluster("root:provider")])
      await until("the workspace takes children", async () => {
        await parent.resource(kinds.workspaces).create({ metadata: { name: "branch" } });
        return true;
      });
    const page = await open("c/root");
    const item = (name: string) => page.getByRole("treeitem", { name, exact: true });
    await item("provider").waitFor();
    await tabTo(page, item("root"));
    await page.keyboard.press("ArrowDown");
    await until("the first child has the focus", () => isFocused(item("branch")));
    while (!(await isFocused(item("provider")))) await page.keyboard.press("ArrowDown");
    assert.equal(await item("provider").getAttribute("aria-expanded"), "false");
    await page.keyboard.press("ArrowRight");
    await until("its child is there", async () => (await item("branch").count()) === 2);
    assert.equal(await item("branch").nth(1).getAttribute("aria-level"), "3");
    await page.keyboard.press("ArrowRight");
    await until("its child has the focus", () => isFocused(item("branch").nth(1)));
    await page.keyboard.press("ArrowLeft");
    await until("the parent has the focus", () => isFocused(item("provider")));
    await page.keyboard.press("ArrowLeft");
    await until("it is closed", async () => (await item("branch").count()) === 1);
    assert.deepEqual(await seriousFindings(page), []);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "root:provider", exact: true }).waitFor();
  });

  it("a change is reviewed and written, with tabs that arrows move between", async () => {
    const maps = environment.client.resource(kinds.configMaps);
    const metadata = { name: "typed", namespace };
    await maps.create({ metadata, data: { color: "red" } });
    const page = await open("c/root/object/configmaps/default/typed");
    await tabTo(page, page.getByRole("tab", { name: "Overview" }));
    await page.keyboard.press("ArrowRight");
    await until("the tab has the focus", () => isFocused(page.getByRole("tab", { name: "YAML" })));
    await page.getByRole("tabpanel", { name: "YAML" }).locator("pre.yaml").waitFor();
    await press(page, page.getByRole("button", { name: "Edit", exact: true }));
    const area = page.getByRole("textbox", { name: "YAML of typed" });
    await tabTo(page, area);
    await page.keyboard.press("Control+End");
    await page.keyboard.press("Control+a");
    const text = (await area.inputValue()).replace("color: red", "color: blue");
    await page.keyboard.insertText(text);
    await page.keyboard.press("Escape");
    // Back to the button in front of the text.
    await page.keyboard.press("Shift+Tab");
    await press(page, page.getByRole("button", { name: "Review the change" }));
    await page.locator(".diff .added", { hasText: "color: blue" }).waitFor();
    await press(page, page.getByRole("button", { name: "Write" }));
    await page.getByText("Written.").waitFor();
    assert.deepEqual((await maps.get(metadata)).data, { color: "blue" });
  });

  it("a claim is accepted and rejected, and the focus comes back from the dialog", async () => {
    const page = await open("c/root:consumer/sharing");
    const accept = page.getByRole("button", { name: "Accept configmaps.core" });
    await press(page, accept);
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal(await isFocused(accept), true);
    await page.keyboard.press("Enter");
    await press(page, dialog.getByRole("button", { name: "Accept", exact: true }));
    await page.getByText("Accepted: all").waitFor();
    await press(page, page.getByRole("button", { name: "Reject configmaps.core" }));
    await page.getByText("Rejected", { exact: true }).waitFor();
  });

  it("a cluster is drained after its question, and taken back", async () => {
    const page = await open("c/root/cluster/us-east1");
    await press(page, page.getByRole("button", { name: "Drain…" }));
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/would move/).waitFor();
    await press(page, dialog.getByRole("button", { name: "Drain", exact: true }));
    await page.getByText(/^Drained:/).waitFor();
    await press(page, page.getByRole("button", { name: "Uncordon", exact: true }));
    await page.getByRole("button", { name: "Cordon", exact: true }).waitFor();
  });

  it("a cluster is registered for an agent", async () => {
    const page = await open("c/root/clusters");
    await press(page, page.getByRole("button", { name: "Register cluster" }));
    const dialog = page.getByRole("dialog", { name: "Register cluster" });
    await dialog.waitFor();
    assert.equal(await isFocused(dialog.getByLabel("Name", { exact: true })), true);
    await page.keyboard.type("by-keys");
    await press(page, dialog.getByRole("button", { name: "Register for an agent" }));
    await page.getByRole("group", { name: "Manifest of the agent of by-keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "by-keys" }).waitFor();
  });
});
