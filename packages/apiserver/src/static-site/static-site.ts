/**
 * StaticSite: a folder of files below a prefix of paths, for a page in a browser.
 *
 * The folder has `index.html`, the document of every path that is no file, and `assets/` with files
 * whose names contain a hash of their content. A file `<name>.gz` is the compressed form of
 * `<name>`, which need not be there. Nothing is read before the first request, and nothing is kept
 * but the names.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import {
  type ApiRequest,
  type ApiResponse,
  header,
  responseHeaders,
} from "../request/api-request.ts";

export interface StaticSiteOptions {
  /** Of paths, with a slash at both ends. */
  readonly prefix: string;
  /** Where the files are; undefined if they are not installed. Called at the first request. */
  readonly folder: () => Promise<string | undefined>;
  /** Of every response: policies. */
  readonly headers: Readonly<Record<string, string>>;
  /** Documents that are computed, by path below the prefix: of the page's configuration. */
  readonly documents?: Readonly<Record<string, () => object>>;
}

interface Files {
  readonly folder: string;
  readonly names: ReadonlySet<string>;
}

const decompress = promisify(gunzip);
const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};
const forever = "public, max-age=31536000, immutable";

export class StaticSite {
  /** Of the paths of this site, without a slash at the end: all others are not its own. */
  readonly path: string;
  readonly #options: StaticSiteOptions;
  #files: Promise<Files | undefined> | undefined;

  constructor(options: StaticSiteOptions) {
    this.#options = options;
    this.path = options.prefix.slice(0, -1);
  }

  /** True for paths that this site answers, whatever they name. */
  has({ target }: Pick<ApiRequest, "target">): boolean {
    const { prefix } = this.#options;
    return target.startsWith(prefix) || isBare(target, prefix);
  }

  async serve({ method, target, headers }: ApiRequest): Promise<ApiResponse> {
    const { prefix, documents = {} } = this.#options;
    if (method !== "GET" && method !== "HEAD") return this.#text(405, "only GET and HEAD\n");
    if (isBare(target, prefix))
      return this.#respond(308, "text/plain", undefined, { location: prefix });
    const path = (target.split("?", 1)[0] as string).slice(prefix.length);
    const document = Object.hasOwn(documents, path) ? documents[path] : undefined;
    const isHead = method === "HEAD";
    if (document !== undefined) {
      const body = Buffer.from(JSON.stringify(document()));
      return this.#respond(200, "application/json", isHead ? undefined : body);
    }
    this.#files ??= this.#findFiles();
    const files = await this.#files;
    if (files === undefined) return this.#text(404, "the page is not installed\n");
    if (path.startsWith("assets/")) return this.#file(files, path, headers, isHead);
    return this.#file(files, "index.html", headers, isHead);
  }

  async #findFiles(): Promise<Files | undefined> {
    const folder = await this.#options.folder();
    if (folder === undefined) return undefined;
    const assets = await readdir(join(folder, "assets"));
    return { folder, names: new Set(["index.html", ...assets.map((name) => `assets/${name}`)]) };
  }

  async #file(
    { folder, names }: Files,
    path: string,
    requested: ApiRequest["headers"],
    isHead: boolean,
  ): Promise<ApiResponse> {
    // Only names that were listed are read: no path leads out of the folder.
    const type = contentTypes[path.slice(path.lastIndexOf(".") + 1)];
    const [isPlain, isZipped] = [names.has(path), names.has(`${path}.gz`)];
    if (!(isPlain || isZipped) || type === undefined) return this.#text(404, "no such file\n");
    const accepts = /\bgzip\b(?!\s*;\s*q=0)/.test(header(requested, "accept-encoding") ?? "");
    const isCompressed = accepts && isZipped;
    const isRead = isCompressed || !isPlain ? `${path}.gz` : path;
    const bytes = await readFile(join(folder, isRead));
    // Hardly any client takes no gzip: one file has to do for all of them.
    const body = isRead === path || isCompressed ? bytes : await decompress(bytes);
    const isHashed = path.startsWith("assets/");
    return this.#respond(200, type, isHead ? undefined : body, {
      "cache-control": isHashed ? forever : "no-cache",
      vary: "Accept-Encoding",
      ...(isCompressed ? { "content-encoding": "gzip" } : {}),
    });
  }

  #text(status: number, text: string): ApiResponse {
    return this.#respond(status, "text/plain; charset=utf-8", Buffer.from(text));
  }

  #respond(
    status: number,
    contentType: string,
    body: Uint8Array | undefined,
    headers: Readonly<Record<string, string>> = {},
  ): ApiResponse {
    return {
      status,
      headers: {
        ...responseHeaders(contentType),
        "cache-control": "no-store",
        "content-length": body === undefined ? undefined : String(body.length),
        ...this.#options.headers,
        ...headers,
      },
      body,
    };
  }
}

function isBare(target: string, prefix: string): boolean {
  const bare = prefix.slice(0, -1);
  return target === bare || target.startsWith(`${bare}?`);
}
