/** Guides, typed in as they stand. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { systemClock } from "@kcp-ts/machinery/base";
import { findKubectl, kubectlMissing } from "@kcp-ts/testkit";
import { collect, temporaryFolder } from "./kcp-process.ts";

const bin = fileURLToPath(new URL("../../../../packages/cli/bin/", import.meta.url));

/** Blocks that are fenced as `sh`, in their order. */
function commandsOf(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = ""]) => text);
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // All of it has ended already.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Ends what it started, however it ends. */
const frame = (commands: string) => `set -eu
end() { code=$?; trap - EXIT; kill $(jobs -p) 2>/dev/null || true; wait || true; exit $code; }
trap end EXIT
${commands}`;

/**
 * Blocks that are fenced as `text`: what the page shows of the output. Ages, capacities (some
 * hundred Pods) and the width of columns differ from run to run.
 */
function shownTextsOf(markdown: string): readonly RegExp[] {
  return [...markdown.matchAll(/^```text\n(.*?)^```$/gms)].map(([, text = ""]) => {
    const escaped = text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const lines = escaped
      .trimEnd()
      .replaceAll(/(?<= )\d+s$/gm, "\\d+m?\\d*s")
      .replaceAll(/(?<= )\d{3}(?= )/g, "\\d+");
    return new RegExp(lines.replaceAll(/ {2,}/g, " +").replaceAll("\n", " *\n"));
  });
}

/** What a reader sees, among other things. */
const guides: Readonly<Record<string, readonly RegExp[]>> = {
  "apiserver.md": [
    /default +Active/,
    /websites\.example\.com condition met\n(.*\n)*Hello\n/,
    /NAME +AGE\ndefault +\d+s/,
    /namespace "shop" deleted\n(.*\n)*yes\n/,
  ],
  "operating.md": [
    /deployment "web" successfully rolled out/,
    /✓ cluster root\/us-west1 +Ready, Push mode/,
    /✓ directory .* is private/,
    /Server: kcp v\d+\.\d+\.\d+/,
    /us-east1 cordoned\nus-west1 cordoned\nus-east1 uncordoned\nus-west1 uncordoned/,
  ],
  "physical-clusters.md": [
    /synctarget\.workload\.kcp\.io\/us-east1 condition met/,
    /us-east1 +True +Ready +ClusterReady +v1\.36/,
    /deployments\.us-east1\.v1\.apps/,
    /deployments\.v1\.apps/,
  ],
  "simulated-clusters.md": [
    /deployment "web" successfully rolled out/,
    /web-[0-9a-z]+-[0-9a-z]+ +1\/1 +Running/,
    /deployment\.apps\/web image updated/,
    /deployment\.apps\/web rolled back/,
    /node\/us-east1-node-1 drained/,
  ],
  "pull-mode.md": [
    /synctarget\.workload\.kcp\.io\/us-east1 condition met/,
    /deployment "web" successfully rolled out/,
    /us-east1 +True +Ready +ClusterReady +v1\.36/,
    /web--us-east1 +2\/2/,
  ],
  "compute.md": [
    /deployments pods replicasets, claimed: configmaps\n/,
    /APIBinding "kubernetes-[a-z0-9]{8}" created\.\nPlacement "everywhere" is ready\.\n/,
    /deployment "kuard" successfully rolled out\nNAME +READY .*\nkuard +1\/1 .*\nkuard--us-east1-[a-z0-9]{10} +1\/1 /,
    /\nkcp-[a-z0-9]{20} +kuard--us-east1-[a-z0-9-]+ +1\/1 +Running /,
    /kuard: \nkuard--us-east1-[a-z0-9]{10}: us-east1\.[a-z0-9]{10}\n/,
    /asks for 1,\nby Placement everywhere \(of the workspace\)\n\nCLUSTER .*\nus-east1\.[a-z0-9]{10} +1 +1\/1 +- +Scheduled\n/,
    /deployment\.apps\/kuard moves to us-east1\n(.*\n)*deployment\.apps\/kuard moved to us-east1: us-east1\.[a-z0-9]{10} 1\/1\n/,
    /default \(other tenant\) +deployment\/kuard +us-east1 1 +stays \(Unschedulable\)\s*\n/,
    /\nkuard--us-east1-[a-z0-9-]+ +1\/1 +Running .*\nsimulated container kuard-amd64 of image .*\nkuard--us-east1-[a-z0-9-]+\nNAME +CPU\(cores\) +MEMORY\(bytes\) *\nkuard--us-east1-[a-z0-9-]+ +1m +8Mi/,
    /apibinding\.apis\.kcp\.io "kubernetes-[a-z0-9]{8}" deleted/,
  ],
  "drain.md": [
    /web +6\/6 .*\nweb--us-east1 +3\/3 .*\nweb--us-west1 +3\/3/,
    /^\{.*"pods":/m,
    /us-west1 cordoned\nus-west1 already cordoned\n/,
    /us-west1 keeps 3\nus-west1 uncordoned\n/,
    /deployment\.apps\/web moves to us-west1\n(.*\n)*deployment\.apps\/web moved to us-west1: us-west1 9\/9\nworkload\.kcp\.io\/cluster=us-west1\n/,
    /deployment\.apps\/web moves to wherever there is room\n/,
    /NAMESPACE +WORKLOAD +FROM +TO\s*\ndefault +deployment\/web +us-east1 \d+, us-west1 \d+ +us-west1 9\s*\n/,
    /us-east1 draining\n(us-east1: .*\n)*us-east1 drained: the cluster is empty: .*\n\{.*"remaining":0,/,
    /synctarget\.workload\.kcp\.io\/us-east1 condition met\nus-east1 uncordoned\n/,
    /us-east1 drained and removed\nsynctarget\.workload\.kcp\.io\/us-west1\n/,
  ],
  "drain-with-volumes.md": [
    /default +deployment-web +6 +6 +6 +eu-west1=2,us-east1=2,us-west1=2 +AllReplicasScheduled /,
    /us-east1 draining\nus-east1: /,
  ],
  "workspaces.md": [
    /Workspace "shop" \(type root:team\) is ready to use\./,
    /Current workspace is 'root:acme:shop' \(type root:team\)\./,
    /configmap\/settings created/,
    /└── acme\n +└── shop\n/,
    /clusterrolebinding\.rbac\.authorization\.k8s\.io\/shop-edit created/,
  ],
  "placement.md": [
    /default +synctargets +2 +2/,
    /asks for 4,\nby no policy: all clusters, evenly/,
    /us-east1 +2 +2\/2 +\d+ +Scheduled/,
    /default +deployment\/web +eu-west1 2, us-east1 2 +eu-west1 4\n\n2 replicas of 1 workload would move/,
    /web +Bound +eu +True +True/,
    /eu-west1 +0 .* not in Location us of Placement web/,
    /6\/8 replicas scheduled: .*pod limit reached: 6\/6 \(SyncTarget us-east1\)/,
    /deployment\/web +us-east1 6 +us-east1 4, us-east2 4/,
    /8 replicas of deployment\/web in namespace default would be unschedulable/,
  ],
  "traffic.md": [
    /web-[a-z0-9]+.* us-west1/,
    /serviceimport\.multicluster\.x-k8s\.io\/web +ClusterSetIP/,
    /ingress\.networking\.k8s\.io\/web +<none> +web\.example\.io +\d/,
    /service\/web annotated/,
    /web-clusterset .* 80\/TCP/,
  ],
  "authorization.md": [
    /rolebinding\.rbac\.authorization\.k8s\.io\/developers-edit created\nyes\n/,
    /^Username +kcp-admin/m,
    /role\.rbac\.authorization\.k8s\.io\/readers reconciled/,
  ],
  "authentication.md": [/^Username +system:serviceaccount:default:robot$/m],
  "admission.md": [
    /configmap\/one created/,
    /configmaps "two" is forbidden: exceeded quota: small, requested: configmaps=1, used: configmaps=2, limited: configmaps=2/,
  ],
  "sharing-apis.md": [
    /apiresourceschema\.apis\.kcp\.io\/v1\.cowboys\.wildwest\.dev created/,
    /cowboys created and bound\./,
    /NAMESPACE +NAME +AGE\ndefault +luke/,
    /claim "configmaps" on APIBinding "cowboys" is accepted/,
    /default +saloon +1/,
    /claim "configmaps" on APIBinding "cowboys" is rejected/,
  ],
};

for (const [name, seen] of Object.entries(guides)) {
  describe(`docs/guides/${name}`, { skip: kubectlMissing() ?? false }, () => {
    it("does what it says", async (t) => {
      const guide = new URL(`../../../../docs/guides/${name}`, import.meta.url);
      const markdown = await readFile(guide, "utf8");
      const commands = commandsOf(markdown);
      assert.ok(commands.length >= 2);
      const { code, stdout, stderr } = await typed(t, commands);
      assert.equal(code, 0, `${stdout}\n${stderr.slice(-4000)}`);
      for (const words of [...seen, ...shownTextsOf(markdown)]) assert.match(stdout, words);
    });
  });
}

async function typed(t: TestContext, commands: readonly string[]) {
  const folder = await temporaryFolder(t);
  const programs = join(folder, "bin");
  await mkdir(programs);
  // A reader has port 6443 to himself; a test has not.
  const kcp = `#!/bin/sh
verb=$1; shift
if [ "$verb" = start ] || [ "$verb" = apiserver ]; then set -- --secure-port 0 --bind-address 127.0.0.1 "$@"; fi
exec "${join(bin, "kcp.mjs")}" "$verb" "$@"
`;
  await writeFile(join(programs, "kcp"), kcp);
  await chmod(join(programs, "kcp"), 0o755);
  for (const plugin of ["kubectl-kcp", "kubectl-ws", "kubectl-create-workspace"])
    await symlink(join(bin, `${plugin}.mjs`), join(programs, plugin));
  await symlink(findKubectl() as string, join(programs, "kubectl"));
  const path = [programs, dirname(process.execPath), process.env["PATH"]].join(delimiter);
  const child = spawn("bash", ["-c", frame(commands.join("\n"))], {
    // A group of its own, so that nothing outlives the test.
    detached: true,
    cwd: folder,
    env: { PATH: path, HOME: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { pid } = child;
  assert.ok(pid !== undefined);
  const endAll = () => killGroup(pid);
  process.once("exit", endAll);
  const timer = systemClock.schedule(guideWithinMs, endAll);
  t.after(() => {
    process.removeListener("exit", endAll);
    timer.cancel();
  });
  return collect(child, guideWithinMs + 10_000);
}

/** For what hangs: a guide takes some ten seconds of a quiet machine. */
const guideWithinMs = 400_000;
