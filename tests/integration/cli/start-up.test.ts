/**
 * What people see when kcp cannot start: one line that names the thing and the next step, and an
 * exit code.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { runKcp, startKcp, temporaryFolder } from "./kcp-process.ts";

async function fails(args: readonly string[], code: number, message: RegExp): Promise<void> {
  const result = await runKcp(...args);
  assert.equal(result.code, code, `${args.join(" ")}: ${result.stderr}`);
  assert.match(result.stderr, message);
  assert.equal(result.stdout, "");
  if (code === 1) assert.equal(result.stderr.trim().split("\n").length, 1, result.stderr);
}

describe("a wrong command line", () => {
  for (const [args, message] of [
    [["start", "--nonsense"], /unknown option '--nonsense'/],
    [["start", "--secure-port", "x"], /--secure-port takes a whole number from 0 to 65535/],
    [["start", "--secure-port", "65536"], /--secure-port takes a whole number from 0 to 65535/],
    [["start", "--storage", "floppy"], /Allowed choices are embedded, memory, etcd/],
    [["start", "--anonymous-auth=no"], /--anonymous-auth takes true or false/],
    [
      ["start", "--webhook-deny-private-addresses", "yes"],
      /--webhook-deny-private-addresses takes true or false/,
    ],
    [["frobnicate"], /unknown command 'frobnicate'/],
    [["backup"], /required option '--out <file>' not specified/],
    [["restore"], /required option '--from <file>' not specified/],
  ] as const) {
    it(`kcp ${args.join(" ")} ends with 2`, () => fails(args, 2, message));
  }

  it("is answered with help when it asks for it", async () => {
    const { code, stdout } = await runKcp("start", "--help");
    assert.equal(code, 0);
    assert.match(stdout, /--root-directory <path>/);
  });
});

describe("a start that cannot succeed", () => {
  const start = (root: string, ...args: readonly string[]) => [
    "start",
    ...["--bind-address", "127.0.0.1", "--secure-port", "0", "--root-directory", root],
    ...args,
  ];

  it("names the port that is in use", async (t) => {
    const root = await temporaryFolder(t);
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    t.after(() => taken.close());
    const port = String((taken.address() as AddressInfo).port);
    const message = new RegExp(`port ${port}: the port is in use; .*--secure-port`);
    await fails(start(root, "--secure-port", port), 1, message);
    const kcp = await startKcp(root);
    assert.equal(await kcp.stop(), 0, "and leaves nothing behind that holds the data");
  });

  it("accepts kcp's flags, and rejects unknown feature gates and authorizers", async (t) => {
    const root = await temporaryFolder(t);
    const gates = ["--feature-gates", "WorkspaceMounts=true,Nonsense=true"];
    await fails(start(root, ...gates), 1, /unrecognized feature gate: Nonsense/);
    const order = ["--authorization-order", "RBAC,Nobody"];
    await fails(start(root, ...order), 1, /invalid authorizer: "Nobody"/);
    const kcp = await startKcp(
      root,
      ...["--feature-gates=WorkspaceMounts=true,CacheAPIs=false", "--shard-name=root"],
      ...["--batteries-included=+user", "--enable-home-workspaces=false"],
      ...["--home-workspaces-home-creator-groups=a,b", "--authorization-always-allow-paths=/x*"],
      ...["--authorization-order=AlwaysAllowGroups,RBAC", "--requestheader-allowed-names=a"],
      ...["--authorization-webhook-cache-authorized-ttl=0s"],
    );
    assert.match(await readFile(kcp.kubeconfig, "utf8"), /"user"/);
    assert.equal(await kcp.stop(), 0);
  });

  it("names an address that this machine does not have", async (t) => {
    const root = await temporaryFolder(t);
    const message = /203\.0\.113\.1 port 0: this machine does not have that address; .*--bind-addr/;
    await fails(start(root, "--bind-address", "203.0.113.1"), 1, message);
  });

  it("names a root directory that is none", async (t) => {
    const folder = await temporaryFolder(t);
    const file = join(folder, "file");
    await writeFile(file, "");
    await fails(start(file), 1, /root directory .*\/file: it is a file, .*--root-directory/);
    await fails(start(join(file, "x")), 1, /root directory .*\/file\/x: .*--root-directory/);
  });

  it("names a root directory that the system cannot make, and does not go on trying", async (t) => {
    if (process.platform !== "linux") {
      t.skip("needs /proc");
      return;
    }
    for (const folder of ["/proc/nope", "/proc/nope/deeper"])
      await fails(
        start(folder),
        1,
        new RegExp(`root directory ${folder}: there is no such file or directory; .*--root-dir`),
      );
  });

  it("names a folder of the audit log that cannot be made", async (t) => {
    const root = await temporaryFolder(t);
    const [policy, file] = [join(root, "policy.yaml"), join(root, "file")];
    await writeFile(
      policy,
      "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}",
    );
    await writeFile(file, "");
    await fails(
      start(root, "--audit-policy-file", policy, "--audit-log-path", join(file, "audit.log")),
      1,
      /the folder of the audit log .*\/file: it is a file, not a directory; .*--audit-log-path/,
    );
  });

  it("makes a root directory with those above it, for its owner alone", async (t) => {
    const root = join(await temporaryFolder(t), "a", "b", "c");
    const kcp = await startKcp(root);
    assert.equal((await stat(root)).mode & 0o777, 0o700);
    assert.equal(await kcp.stop(), 0);
  });

  it("keeps what it stores to its owner in a root directory that others may read", async (t) => {
    const root = join(await temporaryFolder(t), "open");
    await mkdir(root, { mode: 0o755 });
    await chmod(root, 0o755);
    const first = await startKcp(root);
    const modeOf = async (name: string) => (await stat(join(root, name))).mode & 0o777;
    assert.equal(await modeOf("data"), 0o700);
    assert.equal(await first.stop(), 0);

    // As earlier versions left it.
    await chmod(join(root, "data"), 0o755);
    const second = await startKcp(root);
    assert.equal(await modeOf("data"), 0o700);
    for (const { name } of await readdir(root, { withFileTypes: true })) {
      const isPublic = name.endsWith(".crt") || name.endsWith(".pub");
      if (!isPublic) assert.equal((await modeOf(name)) & 0o077, 0, name);
    }
    assert.equal(await second.stop(), 0);
  });

  it("names a root directory that cannot be written", async (t) => {
    if (process.getuid?.() === 0) {
      t.skip("root may write everywhere");
      return;
    }
    const folder = await temporaryFolder(t);
    await chmod(folder, 0o500);
    await fails(start(join(folder, "x")), 1, /permission denied.*--root-directory/);
  });

  it("names data that is damaged, and leaves it as it is", async (t) => {
    const root = await temporaryFolder(t);
    const data = join(root, "data");
    await mkdir(data);
    await writeFile(join(data, "CURRENT"), "garbage\n");
    const message = /the data in .*\/data\/CURRENT is damaged: .*kcp restore.*move this directory/;
    await fails(start(root), 1, message);
    assert.equal(await readFile(join(data, "CURRENT"), "utf8"), "garbage\n");
  });

  it("names damage in the middle of real data", async (t) => {
    const root = await temporaryFolder(t);
    await (await startKcp(root)).stop();
    const data = join(root, "data");
    const manifest = (await readdir(data)).find((name) => name.startsWith("MANIFEST"));
    assert.ok(manifest !== undefined);
    await writeFile(join(data, manifest), "not a manifest");
    await fails(start(root), 1, /damaged/);
  });

  it("names data that another server has open", async (t) => {
    const root = await temporaryFolder(t);
    const kcp = await startKcp(root);
    await fails(start(root), 1, /data directory .* is in use by another process: stop it/);
    assert.equal(await kcp.stop(), 0);
  });

  it("names files that are missing, and flags that lack their partner", async (t) => {
    const root = await temporaryFolder(t);
    const missing = join(root, "missing");
    for (const flag of ["--token-auth-file", "--client-ca-file"]) {
      const message = new RegExp(`${flag} names, ${missing}: there is no such file`);
      await fails(start(root, flag, missing), 1, message);
    }
    await fails(start(root, "--tls-cert-file", missing), 1, /go together: give both or neither/);
    await fails(start(root, "--storage", "etcd"), 1, /needs --etcd-servers, for example/);
  });

  it("names the etcd that does not answer", async (t) => {
    const root = await temporaryFolder(t);
    const args = start(root, "--etcd-servers", "http://127.0.0.1:1");
    await fails(args, 1, /cannot use etcd at http:\/\/127\.0\.0\.1:1: .*--etcd-servers/);
  });
});
