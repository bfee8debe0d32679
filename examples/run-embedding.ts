/** Starts the server of embedding.ts, greets once, and stops. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "kcp-ts/testing";
import { greetings, startGreeter } from "./embedding.ts";

const folder = await mkdtemp(join(tmpdir(), "greeter-"));
const plane = await startGreeter(folder, "embedded");
const at = { name: "first", namespace: "default" };
await plane.client.resource(greetings).create({ metadata: at });
const text = await eventually(async () => {
  const { status } = await plane.client.resource(greetings).get(at);
  if (status?.text === undefined) throw new Error("nobody is greeted yet");
  return status.text;
});
const { headers } = await plane.client.read({ method: "GET", path: "/version" });
console.log(text, headers["x-served-by"]);
await plane.stop();
await rm(folder, { recursive: true });
