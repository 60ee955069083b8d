'use client'

import { useChat } from '@ai-sdk/react'
import { useState } from 'react'

export default function Page() {
  const { messages, sendMessage, status, error } = useChat()
  const [text, setText] = useState('')
  return (
    <main>
      {messages.map(({ id, role, parts }) => (
        <p key={id}>
          <b>{role === 'user' ? 'You' : 'Assistant'}: </b>
          {parts.map((part) => (part.type === 'text' ? part.text : '')).join('')}
        </p>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void sendMessage({ text })
          setText('')
        }}
      >
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={status !== 'ready' || text === ''}>Send</button>
      </form>
    </main>
  )
}
