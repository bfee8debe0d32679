export { FakeClock, settle } from "./fake-clock.ts";
export { SeededRandom } from "./seeded-random.ts";
