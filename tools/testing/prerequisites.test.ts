import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { providePrerequisites } from "./prerequisites.ts";

interface FakeMachine {
  readonly present: readonly string[];
  readonly isRoot?: boolean;
  /** Packages that can be installed, and the program in each. */
  readonly packages?: Readonly<Record<string, string>>;
  /** How often apt-get finds its lock taken before it gets it. */
  readonly lockedTimes?: number;
  readonly canUpdate?: boolean;
}

async function provide(machine: FakeMachine) {
  const { present, isRoot = true, packages = {}, lockedTimes = 0, canUpdate = true } = machine;
  let locked = lockedTimes;
  let pausedMs = 0;
  const said: string[] = [];
  const programs = new Set(present);
  const commands: string[] = [];
  const missing = await providePrerequisites({
    isRoot,
    has: (program) => programs.has(program),
    run: async (command, args) => {
      commands.push([command, ...args.filter((arg) => !/^-o$|^Acquire::/.test(arg))].join(" "));
      if (command === "apt-get" && locked-- > 0) return { ok: false, output: heldLock };
      if (args.includes("update") && !canUpdate) return { ok: false, output: "E: no mirror\n" };
      const program = packages[args.at(-1) ?? ""];
      if (args.includes("install") && program !== undefined) programs.add(program);
      const ok = !args.includes("install") || program !== undefined;
      return { ok, output: ok ? "" : "Reading package lists...\nE: Unable to locate package\n" };
    },
    say: (line) => said.push(line),
    pause: async (ms) => {
      pausedMs += ms;
    },
  });
  return { missing, commands, said, pausedMs };
}

const heldLock =
  "Reading package lists...\nE: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)\n" +
  "E: Unable to lock directory /var/lib/apt/lists/\n";

describe("what tests need", () => {
  it("is left alone when it is there", async () => {
    const { missing, commands } = await provide({
      present: ["etcd", "kubectl", "chromium", "apt-get"],
    });
    assert.deepEqual([missing, commands], [[], []]);
  });

  it("is installed where it is missing, and its service stopped", async () => {
    const { missing, commands } = await provide({
      present: ["apt-get", "systemctl", "service", "update-rc.d", "kubectl", "chromium"],
      packages: { "etcd-server": "etcd" },
    });
    assert.deepEqual(missing, []);
    assert.deepEqual(commands, [
      "apt-get -q update",
      "apt-get -q install -y --no-install-recommends etcd-server",
      "systemctl disable --now etcd",
      "update-rc.d etcd disable",
      "service etcd stop",
    ]);
  });

  it("is named when it cannot be installed, and the rest still is", async () => {
    const packages = { "kubernetes-client": "kubectl" };
    const { missing } = await provide({ present: ["apt-get", "chromium"], packages });
    assert.equal(missing.length, 1);
    assert.match(missing[0] ?? "", /^etcd is missing .*etcd-server.*E: Unable to locate package/);
  });

  it("is installed after another program that installs has ended", async () => {
    const packages = { "etcd-server": "etcd" };
    const present = ["apt-get", "kubectl", "chromium"];
    const { missing, commands, said } = await provide({ present, packages, lockedTimes: 2 });
    assert.deepEqual(missing, []);
    assert.deepEqual(commands, [
      ...["apt-get -q update", "apt-get -q update", "apt-get -q update"],
      "apt-get -q install -y --no-install-recommends etcd-server",
    ]);
    assert.match(said.join("\n"), /another program installs packages/);
  });

  it("is named when the other program never ends", async () => {
    const { missing, pausedMs } = await provide({
      present: ["apt-get", "kubectl", "chromium"],
      lockedTimes: Number.POSITIVE_INFINITY,
    });
    assert.match(missing.join("\n"), /^etcd is missing .*install failed: E: Unable to lock/);
    assert.ok(pausedMs >= 300_000 && pausedMs <= 660_000);
  });

  it("is installed from old lists when there are no new ones, or named with both failures", async () => {
    const packages = { "etcd-server": "etcd" };
    const { missing } = await provide({
      present: ["apt-get", "chromium"],
      packages,
      canUpdate: false,
    });
    assert.equal(missing.length, 1);
    assert.match(
      missing[0] ?? "",
      /^kubectl is missing .*install failed: E: Unable to locate package; apt-get update failed: E: no mirror/,
    );
  });

  it("is named when it may not be installed", async () => {
    for (const machine of [{ present: ["apt-get"], isRoot: false }, { present: [] }]) {
      const { missing, commands } = await provide(machine);
      assert.deepEqual(commands, []);
      assert.match(
        missing.join("\n"),
        /^etcd is missing.*\nkubectl is missing.*\nchromium is missing/,
      );
    }
  });
});
