import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { controlPlaneDefaults } from "@kcp-ts/controlplane";
import { Command } from "commander";
import { addTrafficFlags, type TrafficFlags, trafficLimitsOf } from "./traffic-flags.ts";

function limitsOf(...args: readonly string[]) {
  const command = addTrafficFlags(new Command()).exitOverride();
  return trafficLimitsOf(command.parse([...args], { from: "user" }).opts<TrafficFlags>());
}

describe("flags that limit a tenant's share of the server", () => {
  it("have the control plane's defaults when they are not set", () => {
    assert.deepEqual(limitsOf(), controlPlaneDefaults.traffic);
  });

  it("bound connections and the memory of watches whose clients do not read", () => {
    assert.deepEqual(
      limitsOf(
        ...["--max-connections", "500"],
        ...["--http2-max-streams-per-connection", "100"],
        ...["--max-unread-watch-bytes-per-cluster", "1048576"],
        ...["--max-unread-watch-bytes", "0"],
        ...["--max-cache-bytes", "1073741824"],
      ),
      {
        ...controlPlaneDefaults.traffic,
        connectionsMax: 500,
        streamsPerConnectionMax: 100,
        unreadBytesPerClusterMax: 1_048_576,
        unreadBytesMax: 0,
        cacheBytesMax: 1_073_741_824,
      },
    );
  });
});
