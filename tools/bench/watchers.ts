/**
 * Many watchers in one process. A program of its own.
 *
 *     watchers.js <url with watch=true> <token> <http1|http2> <watchers> <events>
 *
 * Prints `open` when all have their answer, and `done` when each has seen that many events. Over
 * HTTP/1.1 every watcher has a connection of its own, as it must; over HTTP/2 fifty share one.
 */
import { connect } from "node:http2";
import { Agent, get } from "node:https";
import type { Readable } from "node:stream";

const [urlText = "", token = "", protocol, watchersText, eventsText] = process.argv.slice(2);
const url = new URL(urlText);
const watchers = Number(watchersText);
const events = Number(eventsText);
const streamsPerConnection = 50;
let openCount = 0;
let doneCount = 0;

process.on("SIGTERM", () => process.exit(0));
if (protocol === "http1") for (let i = 0; i < watchers; i++) watchHttp1();
else for (let i = 0; i < watchers; i += streamsPerConnection) watchHttp2(watchers - i);

function watchHttp1(): void {
  const agent = new Agent({ rejectUnauthorized: false });
  get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
    onAnswer(response.statusCode ?? 0);
    count(response);
  }).on("error", fail);
}

function watchHttp2(left: number): void {
  const session = connect(url.origin, { rejectUnauthorized: false });
  session.on("error", fail);
  for (let i = 0; i < Math.min(left, streamsPerConnection); i++) {
    const stream = session.request({
      ":path": url.pathname + url.search,
      authorization: `Bearer ${token}`,
    });
    stream.on("response", (headers) => onAnswer(Number(headers[":status"])));
    stream.on("error", fail);
    count(stream);
  }
}

function onAnswer(status: number): void {
  if (status !== 200) fail(new Error(`a watch was answered with ${status}`));
  if (++openCount === watchers) console.log("open");
}

/** An event is a line. */
function count(stream: Readable): void {
  let seen = 0;
  stream.on("data", (bytes: Buffer) => {
    const before = seen;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) seen++;
    if (before < events && seen >= events && ++doneCount === watchers) console.log("done");
  });
}

function fail(error: Error): void {
  console.error(error.message);
  process.exit(1);
}
