import { lazyRouteComponent } from '@tanstack/react-router'
import { MessagesSquare } from 'lucide-react'
import { definePage } from '../../page.ts'

export const pages = [
  definePage({
    scope: 'project',
    path: 'conversations',
    label: 'Conversations',
    keywords: 'messages chats text history search',
    component: lazyRouteComponent(() => import('./conversations-page.tsx'), 'ConversationsPage'),
    nav: { group: 'observe', order: 40, icon: MessagesSquare },
  }),
  definePage({
    scope: 'project',
    path: 'conversations/$conversation',
    label: 'Conversation',
    component: lazyRouteComponent(() => import('./conversation-page.tsx'), 'ConversationPage'),
  }),
]
