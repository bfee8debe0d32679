/**
 * Which share of a get it takes to know who asks and whether they may, over the wire: of all that
 * the server's thread does for it, for each kind of credentials.
 */
import { join } from "node:path";
import { ApiClient } from "./api-client.ts";
import type { Bench } from "./contest.ts";
import { interleaved, median } from "./measure.ts";
import { configMap, configMapsPath } from "./objects.ts";
import type { ProfileProbe } from "./profile-probe.ts";
import { benchToken, memberToken, ServerProcess } from "./server-process.ts";

const account = { kind: "ServiceAccount", namespace: "default", name: "robot" };
const member = { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: memberToken };

export async function accessRows({ options, generate, directory, report }: Bench): Promise<void> {
  const server = await ServerProcess.start(join(directory, "access"), { preload: "profile-probe" });
  const url = `${server.url}/clusters/access`;
  const accountToken = await prepare(new ApiClient({ url, token: benchToken }));
  const requests = options.sizes.getsPerRound;
  const shape = { requests, connections: Math.min(8, requests), streams: 8 };
  const contenders = [
    { name: "an administrator's token", token: benchToken },
    { name: "a member's token", token: memberToken },
    { name: "a service account's token", token: accountToken },
  ].map(({ name, token }) => {
    const probes: ProfileProbe[] = [];
    const round = async () => {
      server.say("begin");
      const path = `${configMapsPath("default")}/one`;
      const perSecond = await generate({ url: url + path, token, ...shape });
      server.say("read");
      const line = JSON.parse(await server.line("profileProbe")) as { profileProbe: ProfileProbe };
      probes.push(line.profileProbe);
      return { perSecond, count: requests };
    };
    return { name, pid: server.pid, round, probes };
  });
  const { rounds, sizes } = options;
  const measured = await interleaved(contenders, { rounds, warmUps: sizes.warmUps });
  for (const [at, { name, probes }] of contenders.entries()) {
    const last = probes.slice(-rounds);
    const share = (pick: (probe: ProfileProbe) => number) => median(last.map(pick)) * 100;
    const row = { server: "kcp", unit: "%", cpuMicros: measured[at]?.cpuMicros } as const;
    report.add({
      ...row,
      work: `who asks, and may they: of a get with ${name}`,
      figure: share(({ authenticate, authorize }) => authenticate + authorize),
      wanted: { what: "figure", atMost: 10 },
    });
    report.add({ ...row, work: "… who asks", figure: share(({ authenticate }) => authenticate) });
  }
  await server.stop();
}

/**
 * An object, and two who may see it: by a role of the cluster, as most who use it. Answers with the
 * service account's token.
 */
async function prepare(client: ApiClient): Promise<string> {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const must = (path: string, body: unknown) => client.must("POST", path, JSON.stringify(body));
  const bind = (name: string, role: string, subject: unknown) =>
    must(`${rbac}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [subject],
    });
  await client.must("POST", configMapsPath("default"), configMap("one"));
  await must("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: account.name } });
  const rules = [{ nonResourceURLs: ["/"], verbs: ["access"] }];
  await must(`${rbac}/clusterroles`, { metadata: { name: "enter" }, rules });
  await bind("member-enters", "enter", member);
  await bind("member-views", "view", member);
  await bind("account-views", "view", account);
  const issued = await must(`/api/v1/namespaces/default/serviceaccounts/${account.name}/token`, {});
  client.close();
  return (JSON.parse(issued.toString()) as { status: { token: string } }).status.token;
}
