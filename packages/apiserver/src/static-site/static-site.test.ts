import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { ApiRequest } from "../request/api-request.ts";
import { StaticSite } from "./static-site.ts";

const folders: string[] = [];
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true });
});

async function siteWithFiles() {
  const folder = await mkdtemp(join(tmpdir(), "static-site-"));
  folders.push(folder);
  await mkdir(join(folder, "assets"));
  await writeFile(join(folder, "index.html"), "<!doctype html>");
  await writeFile(join(folder, "assets", "app-1.js"), "plain");
  await writeFile(join(folder, "assets", "app-1.js.gz"), "compressed");
  await writeFile(join(folder, "assets", "app-2.js.gz"), gzipSync("only zipped"));
  await writeFile(join(folder, "secret.txt"), "secret");
  const site = new StaticSite({
    prefix: "/console/",
    folder: async () => folder,
    headers: { "content-security-policy": "default-src 'none'" },
    documents: { "config.json": () => ({ version: "1" }) },
  });
  const get = async (target: string, headers: ApiRequest["headers"] = {}, method = "GET") => {
    const response = await site.serve({ method, target, headers } as ApiRequest);
    const text = response.body === undefined ? "" : Buffer.from(response.body as Uint8Array);
    return { ...response, text: text.toString() };
  };
  return { site, get };
}

describe("a StaticSite", () => {
  it("has paths below its prefix, and no other path of the API", async () => {
    const { site } = await siteWithFiles();
    for (const target of ["/console", "/console?x", "/console/", "/console/c/root?a=b"])
      assert.equal(site.has({ target }), true, target);
    for (const target of ["/", "/consoles", "/api", "/clusters/root/console/"])
      assert.equal(site.has({ target }), false, target);
  });

  it("files with a hash are cached for ever and compressed, the document is asked for again", async () => {
    const { get } = await siteWithFiles();
    const plain = await get("/console/assets/app-1.js");
    assert.equal(plain.text, "plain");
    assert.match(String(plain.headers["cache-control"]), /immutable/);
    assert.match(String(plain.headers["content-type"]), /javascript/);
    const zipped = await get("/console/assets/app-1.js", { "accept-encoding": "br, gzip" });
    assert.equal(zipped.text, "compressed");
    assert.equal(zipped.headers["content-encoding"], "gzip");
    const refused = await get("/console/assets/app-1.js", { "accept-encoding": "gzip;q=0" });
    assert.equal(refused.text, "plain");
    for (const path of ["/console/", "/console/c/root/r/pods?labels=a"]) {
      const document = await get(path);
      assert.equal(document.text, "<!doctype html>");
      assert.equal(document.headers["cache-control"], "no-cache");
      assert.equal(document.headers["content-security-policy"], "default-src 'none'");
    }
  });

  it("a file that is there in its compressed form alone is served to all clients", async () => {
    const { get } = await siteWithFiles();
    const plain = await get("/console/assets/app-2.js");
    assert.equal(plain.text, "only zipped");
    assert.equal(plain.headers["content-encoding"], undefined);
    const zipped = await get("/console/assets/app-2.js", { "accept-encoding": "gzip" });
    assert.equal(zipped.headers["content-encoding"], "gzip");
  });

  it("no path leads out of the folder, or to a file that is not offered", async () => {
    const { get } = await siteWithFiles();
    for (const path of ["assets/../secret.txt", "assets/%2e%2e/secret.txt", "assets/app-1.js.gz"])
      assert.equal((await get(`/console/${path}`)).status, 404, path);
    assert.equal((await get("/console/secret.txt")).text, "<!doctype html>");
  });

  it("documents are computed, other methods are refused, and HEAD has no body", async () => {
    const { get } = await siteWithFiles();
    assert.deepEqual(JSON.parse((await get("/console/config.json")).text), { version: "1" });
    assert.equal((await get("/console/", {}, "POST")).status, 405);
    const head = await get("/console/", {}, "HEAD");
    assert.deepEqual([head.status, head.text], [200, ""]);
    const bare = await get("/console");
    assert.deepEqual([bare.status, bare.headers["location"]], [308, "/console/"]);
  });

  it("asks for its folder at the first request, and once", async () => {
    let asked = 0;
    const folder = async () => {
      asked++;
      return undefined;
    };
    const site = new StaticSite({ prefix: "/console/", folder, headers: {} });
    assert.equal(site.has({ target: "/console/" }), true);
    assert.equal(asked, 0, "nothing is read by a server whose page nobody opens");
    for (const target of ["/console/", "/console/assets/app-1.js"])
      await site.serve({ method: "GET", target, headers: {} } as never);
    assert.equal(asked, 1);
  });

  it("says so where the files are not installed", async () => {
    const site = new StaticSite({ prefix: "/x/", folder: async () => undefined, headers: {} });
    const request = { method: "GET", target: "/x/", headers: {} } as ApiRequest;
    assert.equal((await site.serve(request)).status, 404);
  });
});
