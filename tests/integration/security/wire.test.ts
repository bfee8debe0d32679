/**
 * Goal: no way of putting a request on the wire leads it past the gate of a logical cluster that it
 * is not for: headers twice, in other letters, folded or with blanks; targets as URLs; other
 * authorities; what proxies and frameworks say in headers; over HTTP/1.1 byte by byte and over
 * HTTP/2 by its pseudo-headers.
 *
 * Each is sent by somebody without roles and by the administrator of the workspace next door, with
 * their own good tokens.
 */
import assert from "node:assert/strict";
import { connect as connectHttp2, constants, type OutgoingHttpHeaders } from "node:http2";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import type { UserInfo } from "@kcp-ts/apiserver";
import type { TestListener } from "@kcp-ts/testing/internal";
import { AttackFixture, alice, mallory, vera, victimSecret } from "./attack-fixture.ts";

const secrets = "/api/v1/namespaces/default/secrets";
const mine = "root:org:mine";
const theirs = "root:org:theirs";
const path = `/clusters/${theirs}${secrets}`;

let fixture: AttackFixture;
let port: TestListener;
const tokens = new Map<UserInfo, string>();
before(async () => {
  fixture = await AttackFixture.start();
  port = await fixture.controlPlane.listen();
  for (const user of [alice, mallory, vera]) {
    const kubeconfig = await fixture.controlPlane.kubeconfig({ user });
    tokens.set(user, /"token": "([^"]+)"/.exec(kubeconfig)?.[1] ?? "");
  }
});
after(() => fixture.close());

/** Everything that comes back until the connection ends. */
function exchange(head: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { host, port: number, caPem: ca } = port;
    const socket = connectTls({ host, port: number, ca, ALPNProtocols: ["http/1.1"] });
    const parts: Buffer[] = [];
    socket.on("data", (part: Buffer) => parts.push(part));
    // A server that closes in the middle of a bad request has said enough.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(Buffer.concat(parts).toString("latin1")));
    socket.on("secureConnect", () => socket.write(head, "latin1"));
    socket.setTimeout(60_000, () => {
      socket.destroy();
      reject(new Error("the connection stays open"));
    });
  });
}

interface Lines {
  readonly line?: string;
  readonly lines?: readonly string[];
  readonly host?: readonly string[];
  /** Others than the user's own. */
  readonly authorization?: readonly string[];
}

async function sendHttp1(who: UserInfo, { line, lines = [], ...more }: Lines): Promise<string> {
  const own = `Bearer ${tokens.get(who)}`;
  const { host = [`${port.host}:${port.port}`], authorization = [own] } = more;
  const head = [
    line ?? `GET ${secrets} HTTP/1.1`,
    ...host.map((value) => `Host: ${value}`),
    ...authorization.map((value) => `Authorization: ${value}`),
    ...lines,
    "Connection: close",
  ];
  return await exchange(`${head.join("\r\n")}\r\n\r\n`);
}

const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);

/** A refusal, or no answer at all. */
function assertRefused(status: number, text: string, who: UserInfo): void {
  assert.ok(status === 0 || (status >= 400 && status < 500), `${who.username}: ${status} ${text}`);
  assert.ok(!text.includes(victimSecret), text);
}

describe("the wire", () => {
  it("carries what is the owner's to the owner, so that the refusals below mean something", async () => {
    const answer = await sendHttp1(vera, { line: `GET ${path} HTTP/1.1` });
    assert.equal(statusOf(answer), 200);
    assert.ok(answer.includes(victimSecret));
    const byHeader = await sendHttp1(vera, { lines: [`X-Kubernetes-Cluster: ${theirs}`] });
    assert.ok(byHeader.includes(victimSecret));
  });
});

describe("HTTP/1.1 does not lead into another's cluster", () => {
  const cluster = (value: string, name = "X-Kubernetes-Cluster") => `${name}: ${value}`;
  const attempts: Readonly<Record<string, Lines>> = {
    "by the header after another one": { lines: [cluster(mine), cluster(theirs)] },
    "by the header before another one": { lines: [cluster(theirs), cluster(mine)] },
    "by the header after an empty one": { lines: [cluster(""), cluster(theirs)] },
    "by the header twice": { lines: [cluster(theirs), cluster(theirs)] },
    "by an asterisk after a name": { lines: [cluster(mine), cluster("*")] },
    "by the header in other letters": { lines: [cluster(theirs, "x-KUBERNETES-cluster")] },
    "by the header in two kinds of letters": {
      lines: [cluster(mine), cluster(theirs, "x-kubernetes-cluster")],
    },
    "by the header against its path": {
      line: `GET /clusters/${mine}${secrets} HTTP/1.1`,
      lines: [cluster(theirs)],
    },
    "by the header twice against its path": {
      line: `GET /clusters/${mine}${secrets} HTTP/1.1`,
      lines: [cluster(mine), cluster(theirs)],
    },
    "by a header with a blank in its name": { lines: [cluster(theirs, "X-Kubernetes-Cluster ")] },
    "by a folded header": { lines: ["X-Kubernetes-Cluster: root", ` ${theirs}`] },
    "by a tab before its value": { lines: [`X-Kubernetes-Cluster:\t${theirs}`] },
    "by a NUL in the header": { lines: [cluster(`${mine}\0${theirs}`)] },
    "by a bare line end in the header": { lines: [cluster(`${mine}\nX: y`)] },
    "by a URL as its target": { line: `GET https://localhost${path} HTTP/1.1` },
    "by a URL with the victim for a host": { line: `GET https://${theirs}/api/v1 HTTP/1.1` },
    "by a URL of another scheme": { line: `GET file://${path} HTTP/1.1` },
    "by an authority as its target": { line: `CONNECT ${theirs}:443 HTTP/1.1` },
    "by an asterisk as its target": { line: "OPTIONS * HTTP/1.1", lines: [cluster(theirs)] },
    "by a target without a slash": { line: `GET ${path.slice(1)} HTTP/1.1` },
    "by a target with a blank": { line: `GET /clusters/${mine} ${path} HTTP/1.1` },
    "by two slashes and a host": { line: `GET //localhost${path} HTTP/1.1` },
    "by its host": { host: [theirs], line: `GET ${path} HTTP/1.1` },
    "by two hosts": { host: ["localhost", theirs], line: `GET ${path} HTTP/1.1` },
    "by no host": { host: [], line: `GET ${path} HTTP/1.1` },
    "by HTTP/1.0": { line: `GET ${path} HTTP/1.0` },
    "by HTTP/0.9": { line: `GET ${path}` },
    "by a method in other letters": { line: `get ${path} HTTP/1.1` },
    "by a method of its own": { line: `TREASURE ${path} HTTP/1.1` },
    "by the owner's name beside the token": {
      line: `GET ${path} HTTP/1.1`,
      lines: ["X-Remote-User: vera", "X-Remote-Group: system:masters", "X-Forwarded-User: vera"],
    },
    "by extras of a proxy": {
      line: `GET ${path} HTTP/1.1`,
      lines: ["X-Remote-User: vera", "X-Remote-Uid: 1", "X-Remote-Extra-Scopes: a"],
    },
    "by impersonation in other letters": {
      line: `GET ${path} HTTP/1.1`,
      lines: ["IMPERSONATE-user: vera"],
    },
    "by impersonation twice": {
      line: `GET ${path} HTTP/1.1`,
      lines: ["Impersonate-User: mallory", "Impersonate-User: vera"],
    },
    "by impersonation with a blank in its name": {
      line: `GET ${path} HTTP/1.1`,
      lines: ["Impersonate-User : vera"],
    },
    "by impersonation of a group twice": {
      line: `GET ${path} HTTP/1.1`,
      lines: ["Impersonate-User: x", "Impersonate-Group: a", "impersonate-group: system:masters"],
    },
    "by a warrant in other letters": {
      line: `GET ${path} HTTP/1.1`,
      lines: [
        "Impersonate-User: x",
        'Impersonate-Extra-Authorization.Kcp.Io%2FWarrant: {"user":"vera"}',
      ],
    },
    "by a password": { line: `GET ${path} HTTP/1.1`, authorization: ["Basic dmVyYTp2ZXJh"] },
    "by a protocol to change to": {
      line: `GET ${path} HTTP/1.1`,
      lines: ["Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"],
    },
    "by a token of a WebSocket": {
      line: `GET ${path} HTTP/1.1`,
      authorization: [],
      lines: ["Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.dmVyYQ"],
    },
  };
  for (const [title, lines] of Object.entries(attempts)) {
    it(title, async () => {
      for (const who of [mallory, alice]) {
        const answer = await sendHttp1(who, lines);
        assertRefused(statusOf(answer), answer, who);
      }
    });
  }

  it("by headers that name another path or method: they are not looked at", async () => {
    const lines = [
      `X-Original-URL: ${path}`,
      `X-Rewrite-URL: ${path}`,
      "X-HTTP-Method-Override: DELETE",
      "X-Method-Override: DELETE",
      `X-Forwarded-Prefix: /clusters/${theirs}`,
      "X_Kubernetes_Cluster: root:org:theirs",
    ];
    const answer = await sendHttp1(alice, {
      line: `GET /clusters/${mine}${secrets} HTTP/1.1`,
      lines,
    });
    assert.equal(statusOf(answer), 200);
    assert.ok(!answer.includes(victimSecret), answer);
    const still = await fixture.send(vera, "GET", `${path}/${victimSecret}`);
    assert.equal(still.status, 200);
  });

  it("by two tokens: the second token of an unauthenticated client does not count", async () => {
    const authorization = [`Bearer ${tokens.get(mallory)}`, `Bearer ${tokens.get(alice)}`];
    for (const order of [authorization, [...authorization].reverse()]) {
      const answer = await sendHttp1(mallory, {
        line: `GET ${path} HTTP/1.1`,
        authorization: order,
      });
      assertRefused(statusOf(answer), answer, mallory);
    }
  });
});

describe("HTTP/2 does not lead into another's cluster", () => {
  const send = (who: UserInfo, headers: OutgoingHttpHeaders) =>
    new Promise<{ status: number; text: string }>((resolve) => {
      const session = connectHttp2(port.url, { ca: port.caPem });
      const ended = (status: number, text: string) => {
        session.destroy();
        resolve({ status, text });
      };
      session.on("error", () => ended(0, ""));
      const authorization = `Bearer ${tokens.get(who)}`;
      const stream = session.request({ ":path": secrets, authorization, ...headers });
      let status = 0;
      let text = "";
      stream.on("response", (answer) => {
        status = answer[":status"] ?? 0;
      });
      stream.setEncoding("utf8");
      stream.on("data", (part: string) => {
        text += part;
      });
      stream.on("error", () => ended(0, text));
      stream.on("close", () => ended(status, text));
      stream.end();
    });
  const cluster = "x-kubernetes-cluster";
  const attempts: Readonly<Record<string, OutgoingHttpHeaders>> = {
    plainly: { ":path": path },
    "by the header after another one": { [cluster]: [mine, theirs] },
    "by the header before another one": { [cluster]: [theirs, mine] },
    "by the header after an empty one": { [cluster]: ["", theirs] },
    "by an asterisk after a name": { [cluster]: [mine, "*"] },
    "by the header against its path": { ":path": `/clusters/${mine}${secrets}`, [cluster]: theirs },
    "by a URL as its path": { ":path": `https://localhost${path}` },
    "by a path without a slash": { ":path": path.slice(1) },
    "by an asterisk as its path": { ":method": "OPTIONS", ":path": "*", [cluster]: theirs },
    "by an empty path": { ":path": "", [cluster]: theirs },
    "by two slashes and a host": { ":path": `//localhost${path}` },
    "by encoded dots": { ":path": `/clusters/${mine}/%2e%2e/${theirs}${secrets}` },
    "by its authority": { ":path": path, ":authority": theirs },
    "by an authority and a host that differ": { ":path": path, host: theirs },
    "by an authority with a path": { ":authority": `localhost${path}`, [cluster]: theirs },
    "by another scheme": { ":path": path, ":scheme": "file" },
    "by a method in other letters": { ":path": path, ":method": "get" },
    "by a method of its own": { ":path": path, ":method": "TREASURE" },
    "by the headers of a proxy": { ":path": path, "x-remote-user": "vera" },
    "by impersonation twice": { ":path": path, "impersonate-user": ["mallory", "vera"] },
    "by impersonation of a group twice": {
      ":path": path,
      "impersonate-user": "x",
      "impersonate-group": ["a", "system:masters"],
    },
  };
  for (const [title, headers] of Object.entries(attempts)) {
    it(title, async () => {
      for (const who of [mallory, alice]) {
        const { status, text } = await send(who, headers);
        assertRefused(status, text, who);
      }
    });
  }

  it("and leads its owner there", async () => {
    const { status, text } = await send(vera, { ":path": path });
    assert.equal(status, constants.HTTP_STATUS_OK);
    assert.ok(text.includes(victimSecret));
  });
});
