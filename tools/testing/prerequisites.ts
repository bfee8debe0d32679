/**
 * Programs that tests need: etcd and kubectl. One that is missing is installed from Debian's packages, when this is Debian and
 * we are root; one that is there, from wherever, is left alone.
 */
import type { Machine } from "./machine.ts";

interface Prerequisite {
  readonly program: string;
  readonly debianPackage: string;
  /** What the package starts, and tests do not want: they start their own. */
  readonly service: string | undefined;
}

const prerequisites: readonly Prerequisite[] = [
  { program: "etcd", debianPackage: "etcd-server", service: "etcd" },
  { program: "kubectl", debianPackage: "kubernetes-client", service: undefined },
];

/** Resolves to one line for each program that could not be had. */
export async function providePrerequisites(machine: Machine): Promise<string[]> {
  const wanted = prerequisites.filter(({ program }) => !machine.has(program));
  if (wanted.length === 0) return [];
  if (!machine.isRoot || !machine.has("apt-get")) {
    return wanted.map((one) => absent(one, "only root on a machine with apt-get can install it"));
  }
  machine.say(`installing ${wanted.map(({ debianPackage }) => debianPackage).join(" ")}`);
  await aptGet(machine, "update");
  const missing: string[] = [];
  // One by one: what can be had is had, even when the other cannot.
  for (const one of wanted) {
    const install = ["install", "-y", "--no-install-recommends", one.debianPackage];
    const { output } = await aptGet(machine, ...install);
    if (one.service !== undefined) await stopService(machine, one.service);
    if (machine.has(one.program)) continue;
    missing.push(absent(one, `apt-get install failed: ${output.trim().split("\n").at(-1)}`));
  }
  return missing;
}

function absent({ program, debianPackage }: Prerequisite, reason: string): string {
  return `${program} is missing (Debian package ${debianPackage}; ${reason}): tests that need it are skipped`;
}

function aptGet(machine: Machine, ...args: readonly string[]) {
  return machine.run("apt-get", ["-q", ...args], { DEBIAN_FRONTEND: "noninteractive" });
}

/** With systemd or without; a service that does not run is not an error. */
async function stopService(machine: Machine, name: string): Promise<void> {
  if (machine.has("systemctl")) await machine.run("systemctl", ["disable", "--now", name]);
  if (machine.has("update-rc.d")) await machine.run("update-rc.d", [name, "disable"]);
  if (machine.has("service")) await machine.run("service", [name, "stop"]);
}
