/**
 * Programs that tests need: etcd, kubectl and a browser. One that is missing is installed from
 * Debian's packages, when this is Debian and we are root; one that is there, from wherever, is left
 * alone.
 */
import type { Machine } from "./machine.ts";
import type { CommandResult } from "./run-step.ts";

interface Prerequisite {
  readonly program: string;
  readonly debianPackage: string;
  /** What the package starts, and tests do not want: they start their own. */
  readonly service: string | undefined;
}

const prerequisites: readonly Prerequisite[] = [
  { program: "etcd", debianPackage: "etcd-server", service: "etcd" },
  { program: "kubectl", debianPackage: "kubernetes-client", service: undefined },
  { program: "chromium", debianPackage: "chromium", service: undefined },
];

/** Resolves to one line for each program that could not be had. */
export async function providePrerequisites(machine: Machine): Promise<string[]> {
  const wanted = prerequisites.filter(({ program }) => !machine.has(program));
  if (wanted.length === 0) return [];
  if (!machine.isRoot || !machine.has("apt-get")) {
    return wanted.map((one) => absent(one, "only root on a machine with apt-get can install it"));
  }
  machine.say(`installing ${wanted.map(({ debianPackage }) => debianPackage).join(" ")}`);
  // What is known already may do: packages that cannot be had for its failure are named with it.
  const update = await aptGet(machine, "update");
  const missing: string[] = [];
  // One by one: what can be had is had, even when the other cannot.
  for (const one of wanted) {
    const install = ["install", "-y", "--no-install-recommends", one.debianPackage];
    const installed = await aptGet(machine, ...install);
    if (one.service !== undefined) await stopService(machine, one.service);
    if (machine.has(one.program)) continue;
    const reasons = [failure("install", installed), failure("update", update)];
    missing.push(absent(one, reasons.filter((reason) => reason !== undefined).join("; ")));
  }
  return missing;
}

function failure(verb: string, { ok, output }: CommandResult): string | undefined {
  if (!ok) return `apt-get ${verb} failed: ${output.trim().split("\n").at(-1)}`;
  return verb === "install" ? "its package was installed without it" : undefined;
}

function absent({ program, debianPackage }: Prerequisite, reason: string): string {
  return `${program} is missing (Debian package ${debianPackage}; ${reason}): tests that need it are skipped`;
}

/** A machine that has just started may be updating itself: its lock is waited for. */
async function aptGet(machine: Machine, ...args: readonly string[]): Promise<CommandResult> {
  for (let waitedMs = 0; ; waitedMs += lockPauseMs) {
    const result = await machine.run("apt-get", [...aptOptions, ...args], aptEnvironment);
    const isLocked = !result.ok && lockHeld.test(result.output);
    if (!isLocked || waitedMs >= lockPatienceMs) return result;
    if (waitedMs === 0) machine.say("another program installs packages: waiting for it");
    await machine.pause(lockPauseMs);
  }
}

/** Mirrors that do not answer are given up before the tests are. */
const aptOptions = ["-q", "-o", "Acquire::http::Timeout=20", "-o", "Acquire::Retries=1"];
const aptEnvironment = { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
/** Of package lists, of archives and of dpkg. */
const lockHeld = /^E: (Could not get lock|Unable to (lock|acquire))/m;
const lockPauseMs = 2000;
const lockPatienceMs = 300_000;

/** With systemd or without; a service that does not run is not an error. */
async function stopService(machine: Machine, name: string): Promise<void> {
  if (machine.has("systemctl")) await machine.run("systemctl", ["disable", "--now", name]);
  if (machine.has("update-rc.d")) await machine.run("update-rc.d", [name, "disable"]);
  if (machine.has("service")) await machine.run("service", [name, "stop"]);
}
