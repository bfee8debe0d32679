/** `kcp compat` as a CI job runs it: two files and an exit code. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parseManifests } from "@kcp-ts/controlplane";

const kcp = fileURLToPath(new URL("../../../../packages/cli/bin/kcp.mjs", import.meta.url));

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "compat-"));
});
after(() => rm(folder, { recursive: true }));

function widget(size: string, more = ""): string {
  return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.dev }
spec:
  group: example.dev
  scope: Namespaced
  names: { plural: widgets, singular: widget, kind: Widget, listKind: WidgetList }
  versions:
  - name: v1
    served: true
    storage: true
    ${more}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: ${size}
`;
}

async function compat(one: string, other: string, ...flags: readonly string[]) {
  const paths = [join(folder, "old.yaml"), join(folder, "new.yaml")] as const;
  await writeFile(paths[0], one);
  await writeFile(paths[1], other);
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile(kcp, ["compat", ...paths, ...flags], { timeout: 180_000 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    );
  });
}

const number = widget("{ type: number }");
const integer = widget("{ type: integer }");
const string = widget("{ type: string }");

describe("kcp compat", () => {
  it("tells compatible, narrower and incompatible apart by exit code, and says why", async () => {
    const wider = await compat(integer, number);
    assert.deepEqual([wider.code, /^compatible: /.test(wider.stdout)], [0, true]);
    const narrower = await compat(number, integer);
    assert.equal(narrower.code, 3);
    assert.match(narrower.stdout, /\.spec\.size: The type changed \(was "number", now "integer"\)/);
    assert.equal((await compat(number, integer, "--narrow")).code, 0);
    const apart = await compat(string, integer);
    assert.equal(apart.code, 4);
    assert.match(apart.stdout, /^incompatible:\n {2}\.spec\.size: The type changed/);
  });

  it("prints the common schema", async () => {
    const { stdout, code } = await compat(number, integer, "--lcd", "--narrow");
    assert.equal(code, 0);
    const [printed] = parseManifests(stdout, "stdout");
    const [expected] = parseManifests(integer, "integer");
    assert.deepEqual(printed, expected);
  });

  it("speaks JSON to programs", async () => {
    const { stdout } = await compat(string, integer, "-o", "json");
    const { verdict: result, findings } = JSON.parse(stdout) as {
      verdict: string;
      findings: unknown[];
    };
    assert.deepEqual([result, findings.length], ["incompatible", 1]);
  });

  it("another scope or a subresource that went is another API", async () => {
    const scoped = await compat(string, string.replace("Namespaced", "Cluster"));
    assert.match(scoped.stdout, /spec\.scope: was Namespaced, now Cluster/);
    const withStatus = widget("{ type: string }", "subresources: { status: {} }");
    const gone = await compat(withStatus, string);
    assert.deepEqual([gone.code, /subresources\.status: is gone/.test(gone.stdout)], [4, true]);
    assert.equal((await compat(string, withStatus)).code, 0);
  });

  it("says what is wrong with its input", async () => {
    const none = await compat("apiVersion: v1\nkind: ConfigMap\n", string);
    assert.deepEqual([none.code, /has no CustomResourceDefinition/.test(none.stderr)], [1, true]);
    const version = await compat(string, string, "--new-version", "v9");
    assert.match(version.stderr, /has no version v9; it has v1/);
  });
});
