import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { providePrerequisites } from "./prerequisites.ts";

interface FakeMachine {
  readonly present: readonly string[];
  readonly isRoot?: boolean;
  /** Packages that can be installed, and the program in each. */
  readonly packages?: Readonly<Record<string, string>>;
}

async function provide({ present, isRoot = true, packages = {} }: FakeMachine) {
  const programs = new Set(present);
  const commands: string[] = [];
  const missing = await providePrerequisites({
    isRoot,
    has: (program) => programs.has(program),
    run: async (command, args) => {
      commands.push([command, ...args].join(" "));
      const program = packages[args.at(-1) ?? ""];
      if (args.includes("install") && program !== undefined) programs.add(program);
      const ok = !args.includes("install") || program !== undefined;
      return { ok, output: ok ? "" : "Reading package lists...\nE: Unable to locate package\n" };
    },
    say: () => undefined,
  });
  return { missing, commands };
}

describe("what tests need", () => {
  it("is left alone when it is there", async () => {
    const { missing, commands } = await provide({ present: ["etcd", "kubectl", "apt-get"] });
    assert.deepEqual([missing, commands], [[], []]);
  });

  it("is installed where it is missing, and its service stopped", async () => {
    const { missing, commands } = await provide({
      present: ["apt-get", "systemctl", "service", "update-rc.d", "kubectl"],
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
    const { missing } = await provide({ present: ["apt-get"], packages });
    assert.equal(missing.length, 1);
    assert.match(missing[0] ?? "", /^etcd is missing .*etcd-server.*E: Unable to locate package/);
  });

  it("is named when nobody may install it", async () => {
    for (const machine of [{ present: ["apt-get"], isRoot: false }, { present: [] }]) {
      const { missing, commands } = await provide(machine);
      assert.deepEqual(commands, []);
      assert.match(missing.join("\n"), /^etcd is missing.*\nkubectl is missing/);
    }
  });
});
