/**
 * Goal: no spelling of a path or a header leads a request past the authorization of a logical
 * cluster. Each is tried by a user without roles and by the administrator of a sibling workspace.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AttackFixture, alice, anonymous, mallory, victimSecret } from "./attack-fixture.ts";

const secrets = "api/v1/namespaces/default/secrets";
const theirs = "root:org:theirs";

let fixture: AttackFixture;
before(async () => {
  fixture = await AttackFixture.start();
});
after(() => fixture.close());

async function refusedToAll(path: string, headers: Readonly<Record<string, string>> = {}) {
  for (const who of [anonymous, mallory, alice]) {
    const { status, text } = await fixture.send(who, "GET", path, { headers });
    assert.ok(status >= 400 && status < 500, `${who.username}: ${status}`);
    assert.ok(!text.includes(victimSecret), text);
  }
}

describe("a path does not lead into another's cluster", () => {
  const paths: readonly (readonly [title: string, path: string])[] = [
    ["plainly", `/clusters/${theirs}/${secrets}`],
    ["by dots", `/clusters/root:org:mine/../${theirs}/${secrets}`],
    ["by encoded dots", `/clusters/root:org:mine/%2e%2e/${theirs}/${secrets}`],
    ["by encoded slashes", `/clusters/root:org:mine%2f..%2f${theirs}/${secrets}`],
    ["by a double slash in front", `//clusters/${theirs}/${secrets}`],
    ["by a double slash behind clusters", `/clusters//${theirs}/${secrets}`],
    ["by a double slash behind the name", `/clusters/${theirs}//${secrets}`],
    ["by a double slash in the version", `/clusters/${theirs}/api//v1/secrets`],
    ["by a dot in front", `/./clusters/${theirs}/${secrets}`],
    ["by an encoded prefix", `/%63lusters/${theirs}/${secrets}`],
    ["by encoded colons", `/clusters/root%3aorg%3atheirs/${secrets}`],
    ["by colons encoded twice", `/clusters/root%253aorg%253atheirs/${secrets}`],
    ["by a trailing dot", `/clusters/${theirs}./${secrets}`],
    ["by a trailing colon", `/clusters/${theirs}:/${secrets}`],
    ["by a NUL", `/clusters/${theirs}%00/${secrets}`],
    ["by a space", `/clusters/${theirs}%20/${secrets}`],
    ["by a line end", `/clusters/${theirs}%0d%0a/${secrets}`],
    ["by capitals", `/clusters/ROOT:ORG:THEIRS/${secrets}`],
    ["by letters that look alike", `/clusters/root:org:the\u0456rs/${secrets}`],
    ["by colons that look alike", `/clusters/root\uff1aorg\uff1atheirs/${secrets}`],
    ["by an asterisk", `/clusters/*/api/v1/secrets`],
    ["by an encoded asterisk", `/clusters/%2a/api/v1/secrets`],
    ["by an asterisk in a path", `/clusters/root:org:*/api/v1/secrets`],
    ["by two clusters", `/clusters/root:org:mine/clusters/${theirs}/${secrets}`],
    ["by an encoded api", `/clusters/${theirs}/%61pi/v1/namespaces/default/secrets`],
    ["behind a health check", `/clusters/${theirs}/healthz/../${secrets}`],
    ["behind the version", `/clusters/${theirs}/version/../${secrets}`],
    ["by a parameter of a segment", `/clusters/${theirs};a=b/${secrets}`],
    ["by a fragment", `/clusters/${theirs}#/${secrets}`],
    ["by a backslash", `/clusters/${theirs}\\${secrets}`],
    ["by a whole URL", `https://example.com/clusters/${theirs}/${secrets}`],
    ["by the old way to watch", `/clusters/${theirs}/api/v1/watch/secrets`],
    ["by an empty namespace", `/clusters/${theirs}/api/v1/namespaces//secrets`],
    ["by the system's clusters", "/clusters/system:admin/api/v1/secrets"],
    ["by dots behind a colon", `/clusters/root:org:..:theirs/${secrets}`],
    ["by dots behind a path of workspaces", `/clusters/root:org/..//${theirs}/${secrets}`],
    ["by a trailing dot and a slash", `/clusters/${theirs}/./${secrets}`],
    ["by dots that are encoded twice", `/clusters/root:org:mine/%252e%252e/${theirs}/${secrets}`],
    ["by slashes that are encoded twice", `/clusters/root:org:mine%252f${theirs}/${secrets}`],
    ["by an overlong slash", `/clusters/root:org:mine%c0%af${theirs}/${secrets}`],
    ["by an overlong dot", `/clusters/root:org:mine/%c0%ae%c0%ae/${theirs}/${secrets}`],
    ["by half a character", `/clusters/${theirs}%c3/${secrets}`],
    ["by a wide slash", `/clusters/root:org:mine\uff0f${theirs}/${secrets}`],
    ["by a letter with a mark", `/clusters/root:org:thei\u0301rs/${secrets}`],
    ["by what cannot be seen", `/clusters/${theirs}\u200b/${secrets}`],
    ["by what turns the direction", `/clusters/\u202e${theirs}/${secrets}`],
    ["by an old encoding", `/clusters/root%u003aorg%u003atheirs/${secrets}`],
    ["by an encoding that is none", `/clusters/${theirs}%zz/${secrets}`],
    ["by a parameter behind an asterisk", "/clusters/*;a=b/api/v1/secrets"],
    ["by a parameter of the resource", `/clusters/${theirs}/api/v1/namespaces/default/secrets;a`],
    ["by an asterisk for a namespace", `/clusters/${theirs}/api/v1/namespaces/*/secrets`],
    ["by a question mark that is encoded", `/clusters/${theirs}%3fx/${secrets}`],
    ["by a hash that is encoded", `/clusters/${theirs}%23/${secrets}`],
    ["by a cluster in the query", `/${secrets}?cluster=${theirs}&clusters=${theirs}`],
    ["by a name that every object has", `/clusters/__proto__/${secrets}`],
    [
      "by a virtual workspace of exports",
      `/services/apiexport/${theirs}/x/clusters/*/api/v1/secrets`,
    ],
    [
      "by a virtual workspace of types",
      `/services/initializingworkspaces/root:universal/clusters/*/api/v1/secrets`,
    ],
    ["by a virtual workspace that is none", `/services/none/clusters/${theirs}/${secrets}`],
    [
      "by two clusters of a virtual workspace",
      `/services/apiresourceschema/root/clusters/root/clusters/${theirs}/${secrets}`,
    ],
    [
      "by dots behind a virtual workspace",
      `/services/apiexport/root/x/clusters/root/../../${theirs}/${secrets}`,
    ],
    ["by what stands for no cluster", "/clusters/system:unresolved/api/v1/secrets"],
  ];
  for (const [title, path] of paths) it(title, () => refusedToAll(path));

  it("by the name of the cluster behind the path", () =>
    refusedToAll(`/clusters/${fixture.victimCluster}/${secrets}`));
});

describe("a header does not lead into another's cluster", () => {
  const values: readonly (readonly [title: string, value: string, path?: string])[] = [
    ["plainly", theirs],
    ["by an asterisk", "*"],
    ["by a list", `root:org:mine, ${theirs}`],
    ["by a list with an asterisk", "root:org:mine,*"],
    ["by the system's clusters", "system:admin"],
    ["against its path", theirs, "/clusters/root:org:mine"],
    ["against its path, by an asterisk", "*", "/clusters/root:org:mine"],
  ];
  for (const [title, value, prefix = ""] of values)
    it(title, () => refusedToAll(`${prefix}/${secrets}`, { "x-kubernetes-cluster": value }));
});

describe("rejections do not disclose which objects exist", () => {
  it("a workspace, a path, a name and an invented one are refused in the same words, by the same headers", async () => {
    const clusters = [
      theirs,
      "root:org:none",
      "root:none:none",
      fixture.victimCluster,
      "0123456789abcdef",
    ];
    for (const who of [anonymous, mallory]) {
      const answers = [];
      for (const cluster of clusters) {
        const { status, text, headers } = await fixture.send(
          who,
          "GET",
          `/clusters/${cluster}/${secrets}`,
        );
        answers.push({ status, text, names: Object.keys(headers).sort() });
      }
      for (const answer of answers) assert.deepEqual(answer, answers[0]);
      assert.equal(answers[0]?.status, 403);
    }
  });

  it("an object that exists and one that does not are refused in the same words", async () => {
    const get = async (name: string) => {
      const path = `/clusters/${theirs}/${secrets}/${name}`;
      const { status, text } = await fixture.send(alice, "GET", path);
      return `${status} ${text.replaceAll(name, "")}`;
    };
    assert.equal(await get(victimSecret), await get("vvv-nothing-vvv"));
  });

  it("to impersonate in a workspace that exists and in one that does not is refused in the same words", async () => {
    const headers = { "impersonate-user": "vera" };
    const ask = async (cluster: string) => {
      const path = `/clusters/${cluster}/${secrets}`;
      const { status, text } = await fixture.send(mallory, "GET", path, { headers });
      return `${status} ${text}`;
    };
    assert.equal(await ask(theirs), await ask("root:org:none"));
  });
});
