/**
 * A hostile tenant attacks a running server. The seed draws the attacks; each attack has its own
 * workspace, and a probe inside the server measures each request. A bystander's objects are
 * compared before and after.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { SeededRandom } from "@kcp-ts/testkit";
import { ApiClient } from "../bench/api-client.ts";
import { benchToken, memberToken, requestProbe, ServerProcess } from "../bench/server-process.ts";
import { accessAttacks } from "./access-attacks.ts";
import type { Attack, Step, StepResponse } from "./attack.ts";
import { Bystander } from "./bystander.ts";
import { clusterAttacks } from "./cluster-attacks.ts";
import { combination } from "./combination.ts";
import { expressionAttacks } from "./expression-attacks.ts";
import { headerAttacks } from "./header-attacks.ts";
import { hostAttacks } from "./host-attacks.ts";
import { HostileHosts } from "./hostile-hosts.ts";
import { kindAttacks } from "./kind-attacks.ts";
import { memberAttacks } from "./member-attacks.ts";
import { mergeAttacks } from "./merge-attacks.ts";
import { nativeAttacks } from "./native-attacks.ts";
import { type NativeKind, readNativeKinds } from "./native-kinds.ts";
import { objectAttacks } from "./object-attacks.ts";
import { placementAttacks } from "./placement-attacks.ts";
import { quantityAttacks } from "./quantity-attacks.ts";
import { RawConnections } from "./raw-connections.ts";
import { readAttacks } from "./read-attacks.ts";
import { readServedKinds, type ServedKind } from "./served-kinds.ts";
import { sharingAttacks } from "./sharing-attacks.ts";
import { TenantClient } from "./tenant-client.ts";
import { watchAttacks } from "./watch-attacks.ts";
import { wireAttacks } from "./wire-attacks.ts";

export const holdMaxMs = 50;
export const peakBytesMax = 64 << 20;
/**
 * What a request may hold the event loop once and in no repetition: several collections of garbage,
 * with caches that other programs have emptied, take as long on a busy machine.
 */
export const unrepeatedHoldMaxMs = 250;

const singleAttacks: readonly Attack[] = [
  ...objectAttacks,
  ...kindAttacks,
  ...sharingAttacks,
  ...expressionAttacks,
  ...accessAttacks,
  ...readAttacks,
  ...wireAttacks,
  ...hostAttacks,
  ...watchAttacks,
  ...mergeAttacks,
  ...quantityAttacks,
  ...headerAttacks,
  ...nativeAttacks,
  ...clusterAttacks,
  ...memberAttacks,
  ...placementAttacks,
];

export const allAttacks: readonly Attack[] = [...singleAttacks, combination(singleAttacks)];

export interface Measurement {
  readonly holdMs: number;
  /** The collections of garbage in the longest turn. */
  readonly collections: readonly string[];
  /** The highest resident memory, less that of the beginning. */
  readonly peakBytes: number;
  /** What a collection leaves of the used memory, less that of the beginning. */
  readonly keptBytes: number;
}

export interface MeasuredStep extends Measurement {
  readonly attack: string;
  /** Draws this attack again. */
  readonly seed: number;
  /** The number of the request within its attack. */
  readonly index: number;
  readonly request: string;
  readonly status: number;
  /** The beginning of the message of a refusal. */
  readonly refusal: string;
}

export interface CampaignOptions {
  readonly directory: string;
  readonly seed: number;
  readonly seconds: number;
  /** Parts of the names of attacks; all of them when empty. */
  readonly only?: readonly string[];
  readonly onStep?: (step: MeasuredStep) => void;
}

/** How often an attack is repeated when one of its requests held the event loop too long. */
const repetitions = 3;

export interface CampaignResult {
  readonly attacks: number;
  readonly steps: number;
  readonly longest: MeasuredStep | undefined;
  readonly largest: MeasuredStep | undefined;
  /** Requests beyond one of the bounds. */
  readonly beyond: readonly MeasuredStep[];
  /**
   * Requests that held the event loop too long once, and in no repetition of their attack: a
   * machine that runs other programs, or a compiler of V8, takes such times from any request.
   */
  readonly unrepeated: readonly MeasuredStep[];
  /** Empty when the bystander reads what it wrote, byte for byte, and its watches saw nothing. */
  readonly bystanderChanges: readonly string[];
}

export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  mkdirSync(options.directory, { recursive: true });
  const hosts = await HostileHosts.start(options.directory);
  const caFile = join(options.directory, "hostile-ca.pem");
  writeFileSync(caFile, hosts.caPem);
  const server = await ServerProcess.start(join(options.directory, "server"), {
    preload: requestProbe,
    flags: ["--mount-allowed-hosts", new URL(hosts.url).host, "--mount-proxy-ca-file", caFile],
  });
  try {
    return await new Campaign(options, server, hosts).run();
  } finally {
    hosts.stop();
    await server.kill();
  }
}

interface DrawnAttack {
  readonly seed: number;
  readonly kinds: readonly ServedKind[];
  readonly natives: readonly NativeKind[];
}

class Campaign {
  readonly #options: CampaignOptions;
  readonly #server: ServerProcess;
  readonly #hosts: HostileHosts;
  readonly #admin: ApiClient;
  readonly #steps: MeasuredStep[] = [];
  readonly #unrepeated: MeasuredStep[] = [];
  #count = 0;
  #workspaces = 0;

  constructor(options: CampaignOptions, server: ServerProcess, hosts: HostileHosts) {
    this.#options = options;
    this.#server = server;
    this.#hosts = hosts;
    this.#admin = new ApiClient({ url: server.url, token: benchToken });
  }

  async run(): Promise<CampaignResult> {
    const { seed, seconds, only = [] } = this.#options;
    const drawn = new SeededRandom(seed);
    const known = allAttacks.filter(
      ({ name }) => only.length === 0 || only.some((part) => name.includes(part)),
    );
    if (known.length === 0) throw new Error(`no attack is named ${only.join(" or ")}`);
    await this.#grantRegistration();
    await this.#workspace("bystander");
    const bystander = new Bystander(this.#admin, "root:bystander");
    await bystander.start();
    const kinds = await readServedKinds(this.#admin, "root:bystander");
    await this.#workspace("natives");
    const natives = await readNativeKinds(this.#admin, "root:natives");
    const endsAt = systemClock.monotonic() + seconds * 1000;
    let attacks = 0;
    for (; attacks === 0 || systemClock.monotonic() < endsAt; attacks++) {
      const attackSeed = attacks === 0 ? seed : drawn.integer(2 ** 32);
      const random = new SeededRandom(attackSeed);
      const attack = random.pick(known as [Attack, ...Attack[]]);
      const drawnAttack = { seed: attackSeed, kinds, natives };
      const held = await this.#attack(attack, random, drawnAttack);
      if (held.length > 0) await this.#repeat(attack, held, { ...drawnAttack, known });
    }
    const bystanderChanges = await bystander.end();
    this.#admin.close();
    const by = (figure: (step: MeasuredStep) => number) =>
      this.#steps.reduce<MeasuredStep | undefined>(
        (most, step) => (most === undefined || figure(step) > figure(most) ? step : most),
        undefined,
      );
    return {
      attacks,
      steps: this.#count,
      longest: by(({ holdMs }) => holdMs),
      largest: by(({ peakBytes }) => peakBytes),
      beyond: this.#steps.filter(isBeyond),
      unrepeated: this.#unrepeated,
      bystanderChanges,
    };
  }

  /** Resolves to the requests that held the event loop too long, and took no more than that. */
  async #attack(
    attack: Attack,
    random: SeededRandom,
    { seed, kinds, natives }: DrawnAttack,
  ): Promise<readonly MeasuredStep[]> {
    const workspace = `t${this.#workspaces++}`;
    const before = this.#steps.length;
    await this.#workspace(workspace);
    const client = new TenantClient(`${this.#server.url}/clusters/root:${workspace}`, memberToken);
    const connections = new RawConnections(this.#server.url);
    const hosts = this.#hosts;
    const steps = attack.steps({ random, hosts, connections, kinds, natives, workspace });
    let index = 0;
    try {
      for (let next = steps.next(); next.done !== true && client.isUsable; ) {
        const place = { attack: attack.name, seed, index: index++ };
        next = steps.next(await this.#step(client, next.value, place));
      }
    } finally {
      connections.closeAll();
      client.close();
      this.#hosts.answer = () => "{}";
      const path = `/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/${workspace}`;
      await this.#measured({ attack: attack.name, seed, index }, `DELETE ${path}`, async () => ({
        status: await this.#admin.status("DELETE", path),
        text: "",
      }));
    }
    return this.#steps.slice(before).filter((step) => isBeyond(step) && !takesTooMuch(step));
  }

  /** Moves the requests that hold the event loop in no repetition to the unrepeated ones. */
  async #repeat(
    attack: Attack,
    held: readonly MeasuredStep[],
    { known, ...drawn }: DrawnAttack & { readonly known: readonly Attack[] },
  ): Promise<void> {
    const all = [...held];
    for (let i = 0; i < repetitions; i++) {
      const random = new SeededRandom(drawn.seed);
      random.pick(known as [Attack, ...Attack[]]);
      all.push(...(await this.#attack(attack, random, drawn)));
    }
    for (const step of all) {
      if (all.some((other) => other !== step && other.index === step.index)) continue;
      this.#steps.splice(this.#steps.indexOf(step), 1);
      this.#unrepeated.push(step);
    }
  }

  async #step(
    client: TenantClient,
    step: Step,
    place: Pick<MeasuredStep, "attack" | "seed" | "index">,
  ): Promise<StepResponse> {
    const request = `${step.method} ${step.path.slice(0, 200)}${step.accept === undefined ? "" : ` as ${step.accept}`} (${step.body?.length ?? 0} of ${step.contentType ?? "application/json"})`;
    return this.#measured(place, request, async () => {
      const response = await client.send(step);
      if (step.waitsForDefinition === true && response.status === 201)
        await served(client, response.text);
      return response;
    });
  }

  async #measured(
    place: Pick<MeasuredStep, "attack" | "seed" | "index">,
    request: string,
    run: () => Promise<StepResponse>,
  ): Promise<StepResponse> {
    this.#server.say("begin");
    await this.#server.line('"redteam":"begun"');
    const response = await run();
    this.#server.say("end");
    const measurement = JSON.parse(await this.#server.line('{"holdMs"')) as Measurement;
    const { status, text } = response;
    const refusal = /"message":"((?:[^"\\]|\\.){0,200})/.exec(status < 400 ? "" : text)?.[1] ?? "";
    const measured: MeasuredStep = { ...place, request, status, refusal, ...measurement };
    this.#count++;
    this.#options.onStep?.(measured);
    this.#keep(measured);
    return response;
  }

  /** Keeps the requests beyond a bound, and those that came nearest to a bound so far. */
  #keep(step: MeasuredStep): void {
    if (isBeyond(step) || this.#steps.length < 2) this.#steps.push(step);
    else if (this.#steps.every(({ holdMs }) => step.holdMs > holdMs)) this.#steps.push(step);
    else if (this.#steps.every(({ peakBytes }) => step.peakBytes > peakBytes))
      this.#steps.push(step);
  }

  async #workspace(name: string): Promise<void> {
    const workspaces = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces";
    await this.#admin.must(
      "POST",
      workspaces,
      JSON.stringify({
        apiVersion: "tenancy.kcp.io/v1alpha1",
        kind: "Workspace",
        metadata: { name },
      }),
    );
    for (;;) {
      const { body } = await this.#admin.request("GET", `${workspaces}/${name}`);
      if (body.includes('"phase":"Ready"')) break;
      await sleep(systemClock, 10);
    }
    await this.#admin.must(
      "POST",
      `/clusters/root:${name}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`,
      JSON.stringify({
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "tenant" },
        roleRef: {
          apiGroup: "rbac.authorization.k8s.io",
          kind: "ClusterRole",
          name: "cluster-admin",
        },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: memberToken }],
      }),
    );
  }

  /** The operator permits the tenant to register physical clusters. */
  async #grantRegistration(): Promise<void> {
    const rbac = "/clusters/root/apis/rbac.authorization.k8s.io/v1";
    const apiGroup = "rbac.authorization.k8s.io";
    const metadata = { name: "registers-clusters" };
    await this.#admin.must(
      "POST",
      `${rbac}/clusterroles`,
      JSON.stringify({
        metadata,
        rules: [
          { apiGroups: ["workload.kcp.io"], resources: ["synctargets"], verbs: ["register"] },
        ],
      }),
    );
    await this.#admin.must(
      "POST",
      `${rbac}/clusterrolebindings`,
      JSON.stringify({
        metadata,
        roleRef: { apiGroup, kind: "ClusterRole", name: metadata.name },
        subjects: [{ apiGroup, kind: "User", name: memberToken }],
      }),
    );
  }
}

function isBeyond(step: MeasuredStep): boolean {
  return step.holdMs > holdMaxMs || takesTooMuch(step);
}

function takesTooMuch({ peakBytes }: MeasuredStep): boolean {
  return peakBytes > peakBytesMax;
}

/** Waits until the server serves the kind of a created definition. */
async function served(client: TenantClient, created: string): Promise<void> {
  const group = /"group":"([^"]+)"/.exec(created)?.[1];
  const plural = /"plural":"([^"]+)"/.exec(created)?.[1];
  for (let tries = 0; tries < 100; tries++) {
    const { status } = await client.send({
      method: "GET",
      path: `/apis/${group}/v1/${plural}?limit=1`,
    });
    if (status !== 404) return;
    await sleep(systemClock, 10);
  }
}
