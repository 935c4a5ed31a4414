// @ts-check
// The front is whole as the server made it.
export {};
