import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textDigestOf } from './text-digest.ts'

test('the digest of a text is the SHA-256 of its UTF-8, by which stored rows are found', () => {
  const known = {
    '': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    abc: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    'größe 🙂': '74f1c0137ae2aad57be1d2b3f8a079631caaa0a50406a7474dd1c9b8ca8983e5',
  }
  for (const [text, digest] of Object.entries(known)) assert.equal(textDigestOf(text).toString('hex'), digest)
})
