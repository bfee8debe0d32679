/**
 * Real etcd for tests: one or three members on the loopback, data in a temporary folder, faults on
 * request.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { etcdMissing, etcdVersion, findEtcd } from "./etcd-binary.ts";
import { enableAuth, memberStatus } from "./etcd-gateway.ts";
import { EtcdMember } from "./etcd-member.ts";
import { EtcdPeers } from "./etcd-peers.ts";
import { freePorts } from "./free-port.ts";
import {
  type CertificatePair,
  createTestAuthority,
  type TestAuthority,
} from "./test-certificates.ts";

export interface StartEtcdOptions {
  readonly members?: 1 | 3;
  /** Serves clients over TLS only and asks them for a certificate of `cluster.tls.authority`. */
  readonly tls?: boolean;
  /** Turns user/password authentication on, with a root user. Not together with `tls`. */
  readonly auth?: { readonly rootPassword: string };
  /**
   * Members talk to each other through proxies, so that `peers` can keep them apart. Not together
   * with `tls` or `auth`.
   */
  readonly peerProxies?: boolean;
  /** More command line arguments for every member. */
  readonly args?: readonly string[];
}

export interface EtcdCluster {
  /** One URL per member, in the order of `members`. */
  readonly endpoints: readonly string[];
  readonly members: readonly EtcdMember[];
  readonly version: string;
  readonly tls?: EtcdClusterTls;
  /** With `peerProxies`. */
  readonly peers?: EtcdPeers;
  /**
   * The index of the member that is the leader; waits for one. Not together with `tls` or `auth`.
   */
  leader(): Promise<number>;
  /** Kills all members and removes their data. */
  dispose(): Promise<void>;
}

export interface EtcdClusterTls {
  readonly authority: TestAuthority;
  readonly client: CertificatePair;
}

export async function startEtcd(options: StartEtcdOptions = {}): Promise<EtcdCluster> {
  const binary = findEtcd();
  if (binary === undefined) throw new Error(etcdMissing());
  const folder = await mkdtemp(join(tmpdir(), "etcd-"));
  const { major, minor, patch } = etcdVersion(binary);
  const tls = options.tls === true ? createTls(folder) : undefined;
  const count = options.members ?? 1;
  const ports = await freePorts(count * 3);
  const peerPorts = Array.from({ length: count }, (_, i) => ports[i * 3 + 1] as number);
  const peers = options.peerProxies === true ? await EtcdPeers.start(peerPorts) : undefined;
  const members = createMembers(binary, folder, {
    ports,
    advertisedPeerPorts: peers?.ports ?? peerPorts,
    tlsFlags: tls?.flags ?? [],
    extraFlags: [...versionFlags(major, minor), ...(options.args ?? [])],
  });
  const dispose = async () => {
    await Promise.all(members.map((member) => member.kill()));
    await peers?.dispose();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    for (const member of members) member.start();
    await Promise.all(members.map((member) => member.ready()));
    if (options.auth !== undefined) {
      await enableAuth((members[0] as EtcdMember).endpoint, options.auth.rootPassword);
    }
    await peers?.learn(members.map((member) => member.endpoint));
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    endpoints: members.map((member) => member.endpoint),
    members,
    version: `${major}.${minor}.${patch}`,
    ...(tls === undefined ? {} : { tls: { authority: tls.authority, client: tls.client } }),
    ...(peers === undefined ? {} : { peers }),
    leader: () => findLeader(members),
    dispose,
  };
}

interface MemberFlags {
  /** Three for each member: for clients, for peers, for metrics. */
  readonly ports: readonly number[];
  /** Where the others look for each member. */
  readonly advertisedPeerPorts: readonly number[];
  readonly tlsFlags: readonly string[];
  readonly extraFlags: readonly string[];
}

function createMembers(binary: string, folder: string, flags: MemberFlags): EtcdMember[] {
  const { ports, advertisedPeerPorts } = flags;
  const scheme = flags.tlsFlags.length > 0 ? "https" : "http";
  const url = (index: number) => `http://127.0.0.1:${ports[index]}`;
  const names = advertisedPeerPorts.map((_, i) => `m${i}`);
  const peerUrl = (index: number) => `http://127.0.0.1:${advertisedPeerPorts[index]}`;
  const peers = names.map((name, i) => `${name}=${peerUrl(i)}`).join(",");
  return names.map((name, i) => {
    const endpoint = `${scheme}://127.0.0.1:${ports[i * 3]}`;
    const metricsUrl = url(i * 3 + 2);
    const args = Object.entries({
      name,
      "data-dir": join(folder, name),
      "listen-client-urls": endpoint,
      "advertise-client-urls": endpoint,
      "listen-peer-urls": url(i * 3 + 1),
      "initial-advertise-peer-urls": peerUrl(i),
      "listen-metrics-urls": metricsUrl,
      "initial-cluster": peers,
      "heartbeat-interval": "50",
      "election-timeout": "500",
      "log-level": "error",
    }).map(([flag, value]) => `--${flag}=${value}`);
    return new EtcdMember({
      binary,
      endpoint,
      metricsUrl,
      args: [...args, ...flags.tlsFlags, ...flags.extraFlags],
    });
  });
}

function versionFlags(major: number, minor: number): string[] {
  const modern = major > 3 || minor >= 5;
  // 3.4 logs in an old format by default; 3.5 can leave out fsync, which no test here relies on.
  return modern ? ["--unsafe-no-fsync"] : ["--logger=zap"];
}

function createTls(folder: string): EtcdClusterTls & { flags: string[] } {
  const authority = createTestAuthority(folder, "etcd-ca");
  const server = authority.issue("etcd-server", ["DNS:etcd.test", "DNS:localhost", "IP:127.0.0.1"]);
  return {
    authority,
    client: authority.issue("etcd-client"),
    flags: [
      `--cert-file=${server.certFile}`,
      `--key-file=${server.keyFile}`,
      `--trusted-ca-file=${authority.caFile}`,
      "--client-cert-auth",
    ],
  };
}

async function findLeader(members: readonly EtcdMember[]): Promise<number> {
  for (;;) {
    for (const [index, member] of members.entries()) {
      if (!member.running) continue;
      const status = await memberStatus(member.endpoint);
      if (status !== undefined && status.leader !== "0" && status.leader === status.memberId)
        return index;
    }
    await (members[0] as EtcdMember).pauseBriefly();
  }
}
